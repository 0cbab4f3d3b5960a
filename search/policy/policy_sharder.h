#pragma once

#include "search/problem.h"

namespace neuroshard::search {

/// Places the tables by SearchOptions::policy, the one with the largest predicted single cost
/// first. It does so several times: tables whole, halved by columns against the balanced load (what
/// is beyond a device's memory in any case), and the best of these with the bottleneck device's
/// costliest piece halved, as long as that gains. The cheapest plan wins, and with
/// SearchOptions::policy_samples the cheapest of so many more, drawn from the policy's
/// probabilities with the pieces of that plan; every one has random numbers of its own, so the
/// plan does not depend on threads. Where pieces fit nowhere even when halved, the largest are
/// placed first instead; where that does not help, all are packed by memory alone
/// (search/packing/). Ends by itself; a time limit ends the drawing. Errors: kInvalidInput without
/// a policy, else as Sharder.
Result<SearchResult> shard_by_policy(const Problem& problem, PlanEvaluator& evaluator,
                                     const SearchOptions& options);

}  // namespace neuroshard::search
