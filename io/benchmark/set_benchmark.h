#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/cost_data/collection.h"
#include "io/cost_data/cost_data.h"
#include "io/plans/export_options.h"
#include "io/traces/plan_trace.h"

namespace neuroshard::io {

/// Sets of shards to measure, each alone on one device as one fused lookup.
struct SetBenchmark {
  /// One set, and what a cost model says of it.
  struct Set {
    std::vector<std::int32_t> shards;  ///< numbers of shards; one may be there twice
    double compute_ms = 0;             ///< forward and backward
    double spread_ms = 0;              ///< how far the model's members disagree about that
  };
  Workload workload;          ///< the tables that shards are of, as wide as their widest shard
  std::vector<Shard> shards;  ///< devices count for nothing
  std::vector<Table> pool;    ///< each shard as a table of its own, as cost data describes it
  std::vector<Set> sets;
  std::int64_t candidates = 0;                 ///< that they were chosen from
  double median_spread_ms = 0;                 ///< of all of those
  std::uint64_t seed = 0;                      ///< of the draw, and of the lookups
  std::map<std::string, std::string> flags{};  ///< as in Collection, how sets were drawn
  std::string cost_model{};                    ///< the one that was asked
  std::string cost_hardware{};                 ///< what that is of
  std::string cost_provenance{};
};

/// The file in such a folder that is made there.
inline constexpr const char* kResultsFile = "results.json";

/// The sets as a folder that is measured without the engine and without the model:
///
/// - run_sets.py, plan_data.py and fused_lookup.py, which need PyTorch and FBGEMM alone;
/// - benchmark.json: tables, shards, sets, and what the cost model says;
/// - table_configs.json: the pool (reference_tables.h);
/// - indices/: a batch of lookups into all tables (drawn_indices.h).
///
/// Deterministic. REQUIRES valid pooled tables in fp32 and `draw_lookups`. Errors: those of
/// write_drawn_indices(), the sink's. Thread-safe.
Status write_set_benchmark(const SetBenchmark& benchmark, const PlanExportOptions& options,
                           const FolderSink& sink);

/// What run_sets.py has measured in such a folder, as cost data.
struct MeasuredSets {
  Collection collection;               ///< the hardware is that of the results
  std::string pool;                    ///< bytes of the pool file
  std::vector<ComputeSample> samples;  ///< in the order of the sets
};

/// Reads benchmark.json, table_configs.json and results.json of the folder. Errors: kInvalidInput
/// naming the file and its JSON path: results that are missing, of another benchmark.json or not of
/// all sets, times that are not above 0, a benchmark of a plan.
Result<MeasuredSets> read_measured_sets(const std::string& directory);

}  // namespace neuroshard::io
