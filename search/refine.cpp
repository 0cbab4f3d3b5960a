#include "search/refine.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "search/feasibility.h"
#include "search/local/shape_catalog.h"
#include "search/lower_bound.h"
#include "search/memory_packing.h"
#include "search/refine_start.h"
#include "search/refinement.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

constexpr double kNoTimeLimit = 1e8;    // seconds, as in StopCheck
constexpr double kPacking = 1;          // seconds
constexpr double kLeastForBound = 0.3;  // seconds left, for a lower bound to end the search by

/// What row splits the options allow, as sizes of pieces.
RowShapes row_shapes(const SearchOptions& options, std::int32_t devices) {
  RowShapes shapes;
  if (may_spread(options, devices)) shapes.blocks = devices;
  if (options.row_splits == RowSplits::kAny) shapes.halves = options.row_parts;
  return shapes;
}

/// Why no plan fits, row shards or not, with a memory that does, to the next of some steps.
Status what_would_do(const Problem& problem, const StopCheck& stop, const Status& why_not_whole) {
  for (const double more : {1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0}) {
    Cluster cluster = problem.cluster;
    cluster.memory_bytes =
        static_cast<std::int64_t>(more * static_cast<double>(cluster.memory_bytes));
    if (spread_by_memory({problem.workload, cluster}, stop)) {
      return no_arrangement(problem, cluster.memory_bytes);
    }
  }
  return why_not_whole;
}

/// Where memory leaves no plan with whole rows: one with tables spread over all devices. Packing is
/// all that can be done then, so that the shortest time limit leaves it a second.
Result<FirstPlan> spread_plan(const Problem& problem, PlanEvaluator& evaluator,
                              const SearchOptions& options, const Status& why_not_whole) {
  SearchOptions patient = options;
  if (patient.time_limit_s > 0) patient.time_limit_s = std::max(patient.time_limit_s, kPacking);
  const StopCheck stop(patient);
  std::optional<Plan> packed = spread_by_memory(problem, stop);
  if (!packed && stop.stop()) return stopped_before_plan();
  if (!packed) return what_would_do(problem, stop, why_not_whole);
  canonicalize(*packed);
  const double cost = plan_cost(*packed, evaluator);
  return FirstPlan{{*std::move(packed), cost, 1, false}, {}};
}

}  // namespace

Result<SearchResult> shard_refine(const Problem& problem, PlanEvaluator& evaluator,
                                  const SearchOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  SearchOptions own = options;
  if (own.time_limit_s <= 0 && own.evaluations <= 0) own.time_limit_s = kRefineSeconds;
  if (own.time_limit_s > kNoTimeLimit) own.time_limit_s = kNoTimeLimit;
  const bool spread = may_spread(own, problem.cluster.devices);
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem, spread));
  if (!spread) NEUROSHARD_RETURN_IF_ERROR(check_finest_pieces(problem));
  const RowShapes rows = row_shapes(own, problem.cluster.devices);
  const ShapeCatalog catalog(problem.workload, evaluator, rows, own.cancel);
  if (problem.cluster.devices == 1 || !catalog.complete()) {
    Result<StartPlan> start = best_start(problem, evaluator, own);
    if (start.status().code() == StatusCode::kInfeasible && spread) {
      return stopped_before_plan();
    }
    NEUROSHARD_RETURN_IF_ERROR(start.status());
    return SearchResult{std::move(start->plan), start->evaluations,
                        start->stopped_early || !catalog.complete()};
  }
  Result<FirstPlan> first = first_plan(problem, evaluator, catalog, own, began);
  if (first.status().code() == StatusCode::kInfeasible && spread) {
    first = spread_plan(problem, evaluator, own, first.status());
  }
  NEUROSHARD_ASSIGN_OR_RETURN(FirstPlan start, std::move(first));
  SearchResult result{std::move(start.plan.plan), start.plan.evaluations, start.plan.stopped_early,
                      start.skipped};
  Assignment pieces = pieces_of(result.plan, problem.workload, catalog);
  if (pieces.empty()) return result;
  const std::chrono::duration<double> used = std::chrono::steady_clock::now() - began;
  const bool has_time = own.time_limit_s <= 0 || own.time_limit_s - used.count() >= kLeastForBound;
  const bool whole_rows = rows.blocks == 0 && rows.halves <= 1;  // the bound is one of those plans
  const double bound = has_time && whole_rows ? lower_bound(problem, evaluator).value_or(0) : 0;
  Refinement refinement(problem, evaluator, catalog, own, began);
  refinement.run(std::move(pieces), start.plan.evaluations, bound);
  result.evaluations += refinement.candidates();
  result.stopped_early = result.stopped_early || refinement.stopped_early();
  // Sums in another order differ by rounding: what counts is the order of plan files.
  Plan plan = plan_of(refinement.best(), problem.workload, catalog, problem.cluster.devices);
  if (plan_cost(plan, evaluator) <= start.plan.cost) result.plan = std::move(plan);
  return result;
}

}  // namespace neuroshard::search
