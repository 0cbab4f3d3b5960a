#pragma once

#include "search/problem.h"

namespace neuroshard::search {

/// Metropolis search over configurations of single tables, FlexFlow's way (arXiv 1807.05358,
/// section 6): a step draws a new configuration of a random table (whole, in pieces of its columns
/// or rows on random devices, over all devices or on every one, as the options allow); a cheaper
/// plan is kept, a dearer one by the amount x with probability exp(-alpha x); memory that devices
/// lack costs a millisecond a MiB on the way; every hundredth of the budget, at most every 1,000
/// steps, it goes on from the best plan. Every plan is costed in full. A yardstick: what the same
/// evaluator gives without estimates, without moves made for balance, and without threads.
///
/// Starts from the best baseline, or, where memory leaves none, as shard_refine() does. Ends after
/// options.evaluations plans, that start's counted, or after options.time_limit_s, or, when neither
/// is given, after kAnnealSeconds.
Result<SearchResult> shard_anneal(const Problem& problem, PlanEvaluator& evaluator,
                                  const SearchOptions& options);

/// Seconds of shard_anneal() when options give no limit.
inline constexpr double kAnnealSeconds = 1;

}  // namespace neuroshard::search
