#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/move_limit.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/planner/plan_options.h"
#include "search/bounds/lower_bound.h"

namespace neuroshard {

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
/// that fits and moves little (search/replan/feasible_start.h, or else fresh_start.h, which takes
/// half of the budget), and which may cost more. Whole tables and columns move and are split,
/// tables get row shards or replicas, as the options say, or become whole again; tables keep their
/// kernels, and no device gets a second block of columns. Of `options`, the algorithm changes
/// nothing, and of what the trainer can run, all but row shards and whether more than whole tables
/// may move. Same input and seed, same plan, unless stopped_early. Errors: kInvalidInput (as
/// make_plan(), and a plan that simulate() refuses for other reasons, is for another number of
/// devices, or a limit below 0); kInfeasible when nothing is found that fits and moves no more than
/// the limit, and when `now` is beyond the memory of hosts. Thread-safe.
Result<PlanResult> replan(const Workload& workload, const Cluster& cluster,
                          const CostModels& models, const Plan& now, const MoveLimit& limit,
                          const PlanOptions& options);

/// What `plan` costs under `models`, and what it takes, with the buffers and hosts of the cluster,
/// of which nothing else counts. Errors: kInvalidInput
/// when the plan does not cover the workload, has a replicated or offloaded table that the models
/// know nothing of, or the models do not fit it. Says nothing about memory limits: see
/// check_memory(). Thread-safe.
Result<PlanCost> simulate(const Workload& workload, const Plan& plan, const CostModels& models,
                          const Cluster& cluster = {});

/// Milliseconds that no plan for this cluster costs less than under `models` whose tables are whole
/// or in columns by multiples of 4, and, with `row_splits` and `data_parallel`, as those have it:
/// of plans that fit the devices or, where there is host memory, whatever memory there is. Nothing
/// where `models` are not additive (networks are not, TorchRec's formula is), where tables in the
/// cluster's host memory could be faster than on devices, and where a single device has tables that
/// may be nothing but data-parallel. Errors: as make_plan() without a search. Thread-safe.
Result<std::optional<double>> cost_lower_bound(
    const Workload& workload, const Cluster& cluster, const CostModels& models,
    RowSplits row_splits, bool data_parallel = false,
    search::BoundEffort effort = search::BoundEffort::kFull);

/// One algorithm's outcome in a comparison: a plan, or why there is none.
struct ComparedPlan {
  std::string algorithm;
  Result<PlanResult> result;
  double seconds = 0;  ///< the search alone, also when it found no plan
};

/// How long a comparison may take.
struct TimeForAll {
  double seconds = 0;  ///< 0: no limit
  /// What becomes of an algorithm for which nothing is left: it has a moment, in which those find a
  /// plan that do not look at the time, or is not run (kCancelled).
  enum class Then { kAMoment, kNothing } then = Then::kAMoment;
};

/// make_plan() with each of `algorithms` in order, the other options being `options`'s; each
/// starts cold, so that their seconds compare. Infeasible is an outcome, and so is that time ended
/// an algorithm before it had a plan (kCancelled), or its refusal of input that another one takes;
/// every other error ends the comparison. Each has no more time than is left for all.
Result<std::vector<ComparedPlan>> compare_plans(const Workload& workload, const Cluster& cluster,
                                                const CostModels& models,
                                                std::span<const std::string> algorithms,
                                                const PlanOptions& options,
                                                const TimeForAll& all = {});

}  // namespace neuroshard
