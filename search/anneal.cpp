#include "search/anneal.h"

#include <utility>

#include "engine/core/rng.h"
#include "search/local/plan_pieces.h"
#include "search/local/relayout_walk.h"
#include "search/plan_cost.h"
#include "search/refine/start_plan.h"
#include "search/stop_check.h"

namespace neuroshard::search {

Result<SearchResult> shard_anneal(const Problem& problem, PlanEvaluator& evaluator,
                                  const SearchOptions& options) {
  SearchOptions own = options;
  if (own.time_limit_s <= 0 && own.evaluations <= 0) own.time_limit_s = kAnnealSeconds;
  const StopCheck stop(own);
  NEUROSHARD_ASSIGN_OR_RETURN(StartPlan start, best_baseline(problem, evaluator, own));
  SearchResult result{std::move(start.plan), start.evaluations, start.stopped_early};
  const ShapeCatalog catalog(problem.space, evaluator);
  Assignment pieces = pieces_of(result.plan, problem.workload, catalog);
  if (problem.cluster.devices == 1 || pieces.empty()) return result;
  RelayoutWalk walk(problem, evaluator, catalog);
  bool stopped = false;
  const WalkResult walked =
      walk.run(pieces, own.evaluations, Rng(own.seed), [&](std::int64_t steps) {
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
