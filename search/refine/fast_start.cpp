#include "search/refine/fast_start.h"

#include <algorithm>
#include <utility>

#include "engine/core/elapsed.h"
#include "search/refine/fast_row_plan.h"

namespace neuroshard::search {

StopCheck share_of_time(const SearchOptions& options, std::chrono::steady_clock::time_point began,
                        double share, double seconds) {
  SearchOptions own = options;
  if (paced_by_time(options)) {
    const double left = options.time_limit_s - seconds_since(began);
    own.time_limit_s = std::max(kLeastTimeLimit, share_of(left, share, seconds));
  }
  return StopCheck(own);
}

std::optional<StartPlan> fast_start(const Problem& problem, PlanEvaluator& evaluator,
                                    const ShapeCatalog& catalog, const StopCheck& stop,
                                    std::int64_t budget) {
  const std::optional<DividedPlan> fast = plan_by_load(problem, evaluator, catalog, stop, budget);
  std::optional<StartPlan> best;
  if (fast) best = start_of(fast->plan, problem, evaluator, catalog);
  const std::int64_t left = fast ? budget - std::min(budget, fast->plan.evaluations) : budget;
  if (left < 1 || stop.stop()) return best;
  if (const auto by_rows = fast_row_plan(problem, evaluator, catalog, stop, left, fast)) {
    StartPlan found = start_of(*by_rows, problem, evaluator, catalog);
    const std::int64_t spent = found.evaluations + (best ? best->evaluations : 0);
    if (!best || found.cost < best->cost) best = std::move(found);
    best->evaluations = spent;
  }
  return best;
}

}  // namespace neuroshard::search
