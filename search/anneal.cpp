#include "search/anneal.h"

#include <utility>

#include "engine/core/rng.h"
#include "search/local/plan_pieces.h"
#include "search/local/relayout_walk.h"
#include "search/plan_cost.h"
#include "search/refine/known_shortage.h"
#include "search/refine/row_start.h"
#include "search/refine/start_plan.h"
#include "search/row_shapes.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

/// The best baseline, or, where memory leaves none, what has tables in rows.
Result<StartPlan> start_with(const Problem& problem, PlanEvaluator& evaluator,
                             const ShapeCatalog& catalog, const RowShapes& rows,
                             const SearchOptions& options) {
  Result<StartPlan> start = best_baseline(problem, evaluator, options);
  const bool none = start.status().code() == StatusCode::kInfeasible;
  if (!none || !may_start_in_rows(problem, rows) || !catalog.complete()) return start;
  NEUROSHARD_ASSIGN_OR_RETURN(
      FirstPlan first, row_start(problem, evaluator, catalog, rows, options, start.status()));
  return std::move(first.plan);
}

}  // namespace

Result<SearchResult> shard_anneal(const Problem& problem, PlanEvaluator& evaluator,
                                  const SearchOptions& options) {
  SearchOptions own = options;
  if (own.time_limit_s <= 0 && own.evaluations <= 0) own.time_limit_s = kAnnealSeconds;
  const StopCheck stop(own);
  const RowShapes rows = row_shapes(own, problem.cluster.devices);
  NEUROSHARD_RETURN_IF_ERROR(known_refusal(problem, rows, own));
  const ShapeCatalog catalog(problem.space, evaluator, rows, own.cancel);
  NEUROSHARD_ASSIGN_OR_RETURN(StartPlan start, start_with(problem, evaluator, catalog, rows, own));
  SearchResult result{std::move(start.plan), start.evaluations, start.stopped_early};
  Assignment pieces = pieces_of(result.plan, problem.workload, catalog);
  if (problem.cluster.devices == 1 || pieces.empty() || !catalog.complete()) return result;
  RelayoutWalk walk(problem, evaluator, catalog);
  bool stopped = false;
  const std::int64_t left = own.evaluations - result.evaluations;
  if (own.evaluations > 0 && left <= 0) return result;
  const WalkResult walked = walk.run_freely(
      pieces, own.evaluations > 0 ? left : 0, Rng(own.seed), [&](std::int64_t steps) {
        if (own.progress != nullptr)
          own.progress->update("anneal", steps, own.evaluations, "plans");
        stopped = stop.stop();
        return stopped ? 1.0 : 0.0;
      });
  result.evaluations += walked.candidates;
  result.stopped_early = result.stopped_early || stopped;
  Plan plan = plan_of(walked.best, problem.workload, catalog, problem.cluster.devices);
  if (plan_cost(plan, evaluator) < start.cost) result.plan = std::move(plan);
  return result;
}

}  // namespace neuroshard::search
