#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/algorithms.h"
#include "engine/core/cluster.h"
#include "engine/core/move_limit.h"
#include "engine/core/plan.h"
#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// How to search. Nothing here is owned; what is pointed at must outlive the call.
struct PlanOptions {
  std::string algorithm{default_algorithm()};  ///< one of algorithm_names()
  std::uint64_t seed = 0;                      ///< of the algorithms that draw random numbers
  int threads = 1;  ///< 0 = one per hardware thread; changes the plan only where time decides it
  /// Seconds after which the search returns its best plan so far; 0 = no limit, but 1 s for
  /// "refine" and "anneal" unless `evaluations` limits them. A limit that is reached makes the plan
  /// depend on the machine's speed and load.
  double time_limit_s = 0;
  /// Plans after which "refine" and "anneal" stop: then the same input and seed give the same plan
  /// on every machine with the same instruction set. 0 = no such limit.
  std::int64_t evaluations = 0;
  /// Row shards that "refine" may make, as far as the cost models know them (known_row_splits());
  /// with other cost models, and in the other algorithms, rows stay whole.
  RowSplits row_splits = RowSplits::kEven;
  /// Whether "refine" may give every device all of a small table, where the cost models know what
  /// that costs (knows_replicas()): TorchRec's data_parallel.
  bool data_parallel = false;
  /// The widest that whoever runs the plan has a place for: no others are told to make tables fit.
  RowSplits possible_row_splits = RowSplits::kAny;
  /// Whether blocks of a table's columns have to be of one width, each on a device of its own, as
  /// HugeCTR has them: algorithms that split columns look for such plans then. What they return may
  /// still have others, where they found none.
  bool equal_columns = false;
  /// Of each host, for tables that the devices have no room for, or that are cheaper there than in
  /// what room is left, where the cost models know what that costs (knows_host_memory()):
  /// TorchRec's fused_uvm and fused_uvm_caching. 0: none. With equal_columns only where no plan is
  /// found without.
  std::int64_t host_memory_bytes = 0;
  ProgressSink* progress = nullptr;
  const CancelToken* cancel = nullptr;
};

/// A feasible plan and what it costs.
struct PlanResult {
  Plan plan;  ///< in the order of plan files
  PlanCost cost;
  std::string algorithm;
  /// Plans the search has put a cost on: in full, or ("refine", of its moves) by an estimate.
  std::int64_t evaluations = 0;
  double seconds = 0;                 ///< the search alone
  bool stopped_early = false;         ///< by time or the cancel token: another run may differ
  std::string skipped;                ///< what the time limit left no room for; empty: nothing
  std::optional<double> lower_bound;  ///< cost_lower_bound(), where the search has found it out
};

/// Searches a plan for `workload` on `cluster` with the lowest cost under `models`. Same input and
/// seed, same plan, unless stopped_early. Errors: kInvalidInput (bad workload, cluster or option,
/// unknown algorithm, models that lack a half or do not fit the device count or batch size);
/// kInfeasible (names the table or limit to blame and the smallest change found that would make it
/// fit); kCancelled (no plan yet when the caller asked to stop). Thread-safe.
Result<PlanResult> make_plan(const Workload& workload, const Cluster& cluster,
                             const CostModels& models, const PlanOptions& options);

/// PlanResult::algorithm of replan().
inline constexpr std::string_view kReplan = "replan";

/// Goes on from `now`, a plan that runs, on the same devices: a plan that costs no more under
/// `models`, for which no more weights and optimizer states come to devices that do not hold them
/// (moved_bytes()) than `limit` says. Tables that `now` lacks are new: they are placed as if
/// nothing of them moved. Where devices have less memory than `now` takes, it goes on from a plan
/// that fits and moves little (search/replan/feasible_start.h), which may cost more. Whole tables
/// and columns move and are split; row shards and replicas stay as they are, tables keep their
/// kernels, and no device gets a second block of a table. Of `options`, the algorithm, row splits
/// and replicas change nothing; host memory is that of each host, which tables that are there keep
/// to; 0: not watched. Same input and seed, same plan, unless stopped_early. Errors: kInvalidInput
/// (as make_plan(), and a plan that simulate() refuses for other reasons, is for another number of
/// devices, or a limit below 0); kInfeasible when nothing is found that fits and moves no more than
/// the limit, and when `now` is beyond the memory of hosts. Thread-safe.
Result<PlanResult> replan(const Workload& workload, const Cluster& cluster,
                          const CostModels& models, const Plan& now, const MoveLimit& limit,
                          const PlanOptions& options);

/// What `plan` costs under `models`. Errors: kInvalidInput when the plan does not cover the
/// workload, has a replicated or offloaded table that the models know nothing of, or the models do
/// not fit it. Says nothing about memory limits: see check_memory(). Thread-safe.
Result<PlanCost> simulate(const Workload& workload, const Plan& plan, const CostModels& models);

/// Milliseconds that no plan for this cluster of column-split tables, and with `row_splits` and
/// data-parallel ones, costs less than under `models`, whatever memory there is; nothing where
/// `models` are not additive (networks are not, TorchRec's formula is). Errors: as make_plan()
/// without a search. Thread-safe.
Result<std::optional<double>> cost_lower_bound(const Workload& workload, const Cluster& cluster,
                                               const CostModels& models, RowSplits row_splits,
                                               bool data_parallel = false);

/// One algorithm's outcome in a comparison: a plan, or why there is none.
struct ComparedPlan {
  std::string algorithm;
  Result<PlanResult> result;
  double seconds = 0;  ///< the search alone, also when it found no plan
};

/// make_plan() with each of `algorithms` in order, the other options being `options`'s; each
/// starts cold, so that their seconds compare. Infeasible is an outcome, and so is that time ended
/// an algorithm before it had a plan (kCancelled), or its refusal of input that another one takes;
/// every other error ends the comparison.
Result<std::vector<ComparedPlan>> compare_plans(const Workload& workload, const Cluster& cluster,
                                                const CostModels& models,
                                                std::span<const std::string> algorithms,
                                                const PlanOptions& options);

}  // namespace neuroshard
