#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

// Plans of TorchRec: the JSON that its ShardingPlan._serialize() gives,
//   {"plan": {MODULE: {TABLE: {"sharding_type", "compute_kernel", "ranks",
//     "shards": [{"shard_offsets": [row, column], "shard_sizes": [rows, columns],
//                 "placement": "rank:R/cuda:L"}]}}}}
// and "cache_params": {"load_factor"} beside the kernel fused_uvm_caching, which TorchRec's
// ParameterSharding has, but _serialize() leaves out;
// with the rules of TorchRec 1.4 (torchrec/distributed/types.py, sharding/*.py). Row types must
// have even blocks: handed others, it looks rows up where ceil(rows / ranks) says and gives wrong
// sums.

namespace neuroshard::io {

/// The name of its format among those that plans are written in.
inline constexpr std::string_view kTorchRecFormat = "torchrec";

/// What TorchRec runs on GPUs.
inline constexpr TrainerRules kTorchRecRules{.row_splits = RowSplits::kEven,
                                             .one_width_a_device = true,
                                             .hot_rows = false,
                                             .cuts_sequences_freely = false};
/// The same on CPUs, where it has no kernels for tables in host memory.
inline constexpr TrainerRules kTorchRecRulesOnCpu{.row_splits = RowSplits::kEven,
                                                  .one_width_a_device = true,
                                                  .host_memory = false,
                                                  .hot_rows = false,
                                                  .cuts_sequences_freely = false};

/// The device in a placement: "cuda" and 1 of "rank:9/cuda:1", "cpu" and -1 of "rank:9/cpu".
struct TorchRecDevice {
  std::string kind;
  std::int32_t local = -1;  ///< -1 = not said
};

/// One table of a TorchRec plan, as the file says it. A data-parallel table has no shards.
struct TorchRecTable {
  std::string name;
  std::string module;  ///< dotted; "" = the model itself
  std::string sharding_type;
  std::string compute_kernel;
  double load_factor = 0;  ///< of the cache of fused_uvm_caching; 0 = not said
  std::vector<std::int32_t> ranks;
  std::vector<Shard> shards;            ///< `table` is not set; a shard of 0 rows holds nothing
  std::vector<TorchRecDevice> devices;  ///< of each shard
};

/// A TorchRec plan before it is held against tables.
struct TorchRecPlan {
  // What only files of the engine say; 0 = not said.
  std::int32_t devices = 0;
  std::int32_t devices_per_host = 0;
  std::int64_t batch_size = 0;
  ExchangeFormat exchange{};
  PlanProvenance provenance{};
  std::vector<TorchRecTable> tables;
};

/// How TorchRec calls this way of holding a table: table_wise, column_wise, row_wise,
/// table_row_wise, grid_shard or data_parallel. `shards` are all of one table, in canonical order
/// and covering it exactly. Error: the reason why TorchRec cannot hold it so, without its place.
Result<std::string_view> torchrec_sharding_type(const Table& table, std::span<const Shard> shards,
                                                std::int32_t devices,
                                                std::int32_t devices_per_host);

/// What TorchRec calls that kernel of a table of that sharding type, as the writer writes it:
/// updated in the backward pass, or "dense" where every device holds the table. TorchRec has others
/// (SSD, quantized).
std::string_view torchrec_kernel(std::string_view sharding_type, const TableKernel& kernel);

/// The kernel of a table in a file in the engine's terms: fused where it is dense. Empty for those
/// that the engine has not, for caches of unknown size and for host memory with data_parallel.
std::optional<TableKernel> engine_kernel(const TorchRecTable& written);

/// Whether the rows of a table with that kernel of TorchRec's are in host memory or on SSD, with no
/// more than a cache of them in the device's.
bool torchrec_rows_elsewhere(std::string_view compute_kernel);

/// kInvalidInput, without its place, when the engine would cost and write another table than
/// `written`: one without an engine_kernel(), or on some ranks of `devices` only where it is
/// data-parallel.
Status check_torchrec_table(const TorchRecTable& written, std::int32_t devices);

/// Format "torchrec" of export_plan(). Beside "plan" it writes "neuroshard": {"devices",
/// "batch_size", "devices_per_host", "exchange", "provenance"}, which TorchRec does not read.
Result<std::string> format_torchrec_plan(const Workload& workload, const PlanDocument& document,
                                         const PlanExportOptions& options);

/// Dotted names of the modules that hold so many tables, "" = the model itself; empty where nobody
/// says any: the one that the options name or, of each table, what the places say, else the
/// options' table_modules.
std::vector<std::string> torchrec_modules(std::size_t tables, const TrainerPlaces& places,
                                          const PlanExportOptions& options);

/// Makes of tables and a plan with hot rows those of the model that neuroshard_engine.torchrec's
/// split_hot_rows() leaves: pooled tables with hot rows are looked up as sequences, in a module for
/// each dim, for cold rows.
void keep_cold_rows(Workload& workload, PlanDocument& document, PlanExportOptions& options);

/// Where the plan's placements are, for `devices` ranks; `modules` is left empty. Hosts have as
/// many devices as the engine's own block says, else as many as the placements and the row types of
/// one host allow: of several numbers, which give the same placements, the usual one, else the
/// most.
TrainerPlaces torchrec_places(const TorchRecPlan& plan, std::int32_t devices);

/// Reasons why TorchRec would not run a plan with these placements: ranks on different kinds of
/// device, devices other than those of hosts with `devices_per_host` (0: those of `places`), ranks
/// without rows on CPU. `places` are the plan's torchrec_places().
std::vector<std::string> torchrec_place_faults(const TorchRecPlan& plan,
                                               const TrainerPlaces& places,
                                               std::int32_t devices_per_host);

/// Says that a table of such a type has a shard of 0 rows where ranks are CPUs.
std::string torchrec_empty_rank(std::string_view sharding_type);

/// Why TorchRec fails on a table of that type and kernel where ranks are CPUs: data_parallel
/// lookups that are not pooled, and rows elsewhere. "" where it does not.
std::string torchrec_fault_on_cpu(const Table& table, std::string_view sharding_type,
                                  std::string_view compute_kernel);

/// Reads such a file, of the engine's or of TorchRec's making; tables of several modules follow
/// one another. Errors: kInvalidInput naming source and JSON path; unknown keys, sharding types
/// and compute kernels and malformed placements among them. Says nothing about coverage.
Result<TorchRecPlan> parse_torchrec_plan(std::string_view bytes, const std::string& source);

/// Reasons why TorchRec would not run `table` as it is written (type against shards and ranks,
/// kernel): empty when it would. `shards` as for torchrec_sharding_type().
std::vector<std::string> torchrec_faults(const TorchRecTable& written, const Table& table,
                                         std::span<const Shard> shards, std::int32_t devices,
                                         std::int32_t devices_per_host);

}  // namespace neuroshard::io
