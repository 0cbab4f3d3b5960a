#pragma once

#include <cstdint>

#include "search/local/local_walk.h"
#include "search/problem.h"
#include "search/refine/walk_budget.h"

// What walks do not get around to, done to the best plan of some. Both end when the search is over,
// but where time paces it they take up to a share of the time limit, even beyond it.

namespace neuroshard::search {

/// Of a budget or of the time, for last_changes(). (steps_up_bench, 40 tasks, two seeds: none and
/// 0.05 are within 0.3 % at each budget. Without them DLRM-DCNv2 on 8 devices has after 100,000
/// evaluations a table that would save 0.4 % on every device.)
inline constexpr double kChangeShare = 0.02;

/// join_pieces().
Assignment last_joins(const Assignment& pieces, const Problem& problem,
                      const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                      const SearchOptions& options, const WalkBudget& budget);

/// with_single_changes(), after `most` candidates at most; of very many pieces at once, with no
/// plan at an infinite cost.
WalkResult last_changes(const Assignment& pieces, const Problem& problem,
                        const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                        const SearchOptions& options, const WalkBudget& budget, std::int64_t most);

}  // namespace neuroshard::search
