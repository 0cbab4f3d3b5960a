#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/tables/tables.h"

namespace neuroshard::io {

/// One sharding task: some tables of a pool, each with the dim it has in this task.
struct Task {
  std::vector<std::int32_t> tables;  ///< ids into the pool; an id may occur more than once
  std::vector<std::int32_t> dims;    ///< as many as tables, 1..kMaxDim
  friend bool operator==(const Task&, const Task&) = default;
};

/// Reads the reference's text: `id,id,... dim,dim,...`, one task a line (task i is line i + 1). At
/// least one task.
/// Errors: kInvalidInput "<source>:<line>: ..." naming the token found and the range expected.
Result<std::vector<Task>> parse_tasks(std::string_view bytes, const std::string& source);

/// The same from a file, or standard input for "-".
Result<std::vector<Task>> read_tasks(const std::string& path);

/// The text parse_tasks reads.
std::string format_tasks(const std::vector<Task>& tasks);

/// The task's tables, in its order, with its dims (they replace those of the pool) and the pool's
/// batch size, else kDefaultBatchSize. Errors: kInvalidInput naming the id outside the pool or the
/// table that fails core validate.
Result<Workload> make_workload(const TableFile& pool, const Task& task);

}  // namespace neuroshard::io
