#pragma once

#include "search/problem.h"

namespace neuroshard::search {

/// Most complete plans that shard_exact() goes through.
inline constexpr double kMostExactPlans = 2e7;

/// The best plan that splits no table, by going through all of them that memory allows. Under
/// learned costs a device may get cheaper by one more shard, so no partial plan bounds its
/// completions and none is cut off for its cost. Devices that are alike are told apart by their
/// shards only: partitions instead of placements. Equal costs: the first plan in the order of the
/// search, whatever the threads.
///
/// Errors: kInvalidInput when there are more plans than kMostExactPlans (12 tables on 4 devices are
/// within it) or than options.evaluations; kInfeasible when none fits or time ends before any plan;
/// kCancelled when stopped before any.
Result<SearchResult> shard_exact(const Problem& problem, PlanEvaluator& evaluator,
                                 const SearchOptions& options);

/// Plans that shard_exact() would go through if memory were no limit; of more than kMostExactPlans
/// some number above it.
double exact_plans(std::int32_t tables, std::int32_t devices, bool devices_alike);

}  // namespace neuroshard::search
