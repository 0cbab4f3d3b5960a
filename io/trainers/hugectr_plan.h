#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/core/trainer_rules.h"
#include "io/plans/export_options.h"
#include "io/plans/plan_document.h"

// Plans of HugeCTR's embedding collection: `shard_matrix`, the tables on each GPU, and
// `shard_strategy`, how they are held there:
//   {"shard_matrix": [["user", "ad"], ["user"]],
//    "shard_strategy": [["mp", ["ad", ["user", 2]]], ["dp", []]], "comm_strategy": "Uniform"}
// ["user", 2]: `user` in 2 column blocks. Which GPU of those that list a table holds which block is
// not written: HugeCTR deals them out in GPU order, and the rows of a block over its GPUs, so many
// that follow one another, by key modulo (engine/core/row_blocks.h). (NVIDIA-Merlin/HugeCTR,
// benchmarks/embedding_collection/hugectr/sharding.)

namespace neuroshard::io {

/// The name of its JSON among the formats that plans are written in.
inline constexpr std::string_view kHugeCtrFormat = "hugectr";

/// What HugeCTR runs.
inline constexpr TrainerRules kHugeCtrRules{.row_splits = RowSplits::kEven,
                                            .equal_columns = true,
                                            .host_memory = false,
                                            .hot_rows = false,
                                            .names_columns = false};

/// One table of such a plan.
struct HugeCtrTable {
  std::string name;
  bool data_parallel = false;
  std::int32_t column_factor = 1;  ///< column blocks of equal width
  std::vector<std::int32_t> gpus;  ///< that list the table, ascending
};

struct HugeCtrPlan {
  std::int32_t devices = 0;
  std::vector<HugeCtrTable> tables;  ///< in the order of shard_strategy
};

/// Formats "hugectr" and "hugectr-python" of export_plan(). Beside the lists: comm_strategy, which
/// is Hierarchical above one host. Refused: row blocks of other sizes or on other devices than a
/// key modulo gives them, column blocks of unequal width, two blocks of a table on one device,
/// tables in host memory. Columns of equal width are interchangeable until training starts, so
/// which of a table's devices, or of the groups of them that its rows are dealt out to, holds which
/// is left to HugeCTR. Written is hugectr_plan().
Result<std::string> format_hugectr_plan(const Workload& workload, const PlanDocument& document,
                                        const PlanExportOptions& options);
Result<std::string> format_hugectr_python(const Workload& workload, const PlanDocument& document,
                                          const PlanExportOptions& options);

/// `plan`, which is canonical, with column blocks that follow one another on a device as one: the
/// same cells on the same device, and HugeCTR has no way to hold them apart.
Plan hugectr_plan(Plan plan);

/// What HugeCTR does with the rows of tables that the plan has in row blocks, for people; "" where
/// it has none.
std::string hugectr_rows(const Workload& workload, const Plan& plan);

/// How HugeCTR would hold a table with the kernel that it has. `shards` are all of one table,
/// canonical and covering it. Error: the reason why it cannot, without its place.
Result<HugeCtrTable> hugectr_table(const Table& table, std::span<const Shard> shards);

/// Reads the JSON form; `compression_strategy` is checked and left. Errors: kInvalidInput naming
/// source and JSON path: unknown keys, a table listed twice, in no strategy, in two, or on no GPU.
Result<HugeCtrPlan> parse_hugectr_plan(std::string_view bytes, const std::string& source);

/// Reasons why HugeCTR would not run `written` on `devices` GPUs: empty when it would.
std::vector<std::string> hugectr_faults(const HugeCtrTable& written, const Table& table,
                                        std::int32_t devices);

/// The shards of a table without faults. Where HugeCTR deals rows out by key modulo they are
/// contiguous row blocks of the same sizes; a GPU for which no rows are left has none.
std::vector<Shard> hugectr_shards(const HugeCtrTable& written, const Table& table,
                                  std::int32_t index);

}  // namespace neuroshard::io
