#include "search/refine/last_steps.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>

#include "engine/core/elapsed.h"
#include "search/local/join.h"
#include "search/local/single_changes.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

constexpr double kJoinShare = 0.1;  // of the time limit, beyond it: thousands of pieces
// Pieces of a plan that is changed: to put more of them down takes long. (5,000 tables on 256
// devices, h200_sim: searches of 0.5 and 2 s ended 0.06 and 0.09 s late.)
constexpr std::size_t kMostChanged = 2'000;

/// Whether the search is over, or where time paces it, that share of its time has gone by since.
std::function<bool()> over_after(double share, const SearchOptions& options,
                                 const WalkBudget& budget) {
  return [&options, &budget, share, began = std::chrono::steady_clock::now()] {
    if (!paced_by_time(options)) return budget.over();
    return budget.cancelled() || seconds_since(began) > share * options.time_limit_s;
  };
}

}  // namespace

Assignment last_joins(const Assignment& pieces, const Problem& problem,
                      const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                      const SearchOptions& options, const WalkBudget& budget) {
  return join_pieces(pieces, problem, evaluator, catalog, over_after(kJoinShare, options, budget));
}

WalkResult last_changes(const Assignment& pieces, const Problem& problem,
                        const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                        const SearchOptions& options, const WalkBudget& budget, std::int64_t most) {
  if (pieces.size() > kMostChanged) return {{}, std::numeric_limits<double>::infinity(), 0};
  return with_single_changes(pieces, problem, evaluator, catalog, most,
                             over_after(kChangeShare, options, budget));
}

}  // namespace neuroshard::search
