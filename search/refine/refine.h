#pragma once

#include "search/problem.h"

namespace neuroshard::search {

/// Good at any time: a plan within milliseconds first (see fast_plan()), then all baselines and the
/// paper's search as far as half of the time left, or a tenth of a second, allows (result.skipped
/// says what it did not), and from the best of these plans local search on the true objective:
/// generations of simulated annealing, several walks at a time, each generation from the best plan
/// so far (see LocalWalk, RelayoutWalk). Never worse than what it starts from.
///
/// Ends after options.evaluations candidates, or after options.time_limit_s, or, when neither is
/// given, after kRefineSeconds. By candidates alone the plan is a function of input and seed,
/// whatever the threads. Where time decides, stopped_early says so; time is spent in cycles, each
/// three times as long as the one before, so that a search that is interrupted has a good plan.
Result<SearchResult> shard_refine(const Problem& problem, PlanEvaluator& evaluator,
                                  const SearchOptions& options);

}  // namespace neuroshard::search
