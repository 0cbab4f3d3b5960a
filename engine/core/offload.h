#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// A table that a plan has in host memory.
struct OffloadedTable {
  std::int32_t table = 0;  ///< index into Workload::tables
  TableKernel kernel;      ///< of all its shards

  friend bool operator==(const OffloadedTable&, const OffloadedTable&) = default;
};

/// Those of a plan, by table, each once: files list them so.
std::vector<OffloadedTable> offloaded_tables(const Plan& plan);

/// Whether the plan has any.
bool has_offloaded(const Plan& plan);

/// Gives the shards of those tables their kernels. Errors: kInvalidInput, naming the entry, where
/// they are not in order and each once, where a kernel is fused or not valid, and where a table has
/// no shards or is on every device.
Status give_kernels(std::span<const OffloadedTable> offloaded, Plan& plan);

/// kInvalidInput when tables are so large that bytes of a plan with all of them in host memory, and
/// the caches that they may have, are not known to be below 2^63 with so many `more`. REQUIRES a
/// valid workload whose tables are below that with those.
Status check_offloaded_bytes(const Workload& workload, std::int64_t more = 0);

/// kInvalidInput, naming the first table that the plan has in host memory, with `why` that is
/// refused.
Status check_none_offloaded(const Plan& plan, std::string_view why);

}  // namespace neuroshard
