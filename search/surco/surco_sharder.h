#pragma once

#include <cstdint>

#include "search/problem.h"

namespace neuroshard::search {

/// SurCo's way (Ferber and others, ICML 2023): surrogate costs, one for each table on each device,
/// are learned for this task alone, so that the assignment with the least of them is one with a low
/// predicted cost. A step solves the assignment, relaxed (RelaxedAssignment), puts each piece where
/// its share is the largest, has that plan costed, and takes the gradient of its cost back through
/// the shares to the surrogate costs (Adam). Costs begin at random, or, with SearchOptions::policy,
/// with what that policy prefers. The cheapest plan of all steps counts. A yardstick: what a
/// gradient finds, which the original takes through its cost network.
///
/// Here the derivative of the cost by a share is what the whole piece adds to the device's compute,
/// times what the plan's cost answers (plan_slopes()), and no backward pass of a network: searches
/// see no networks, it serves every cost model, and a network is asked about whole pieces only,
/// which it knows.
///
/// Tables are whole unless they may not be or no device holds them: then they are halved. Where the
/// pieces do not fit in the first step, all are packed by memory (search/packing/), and nothing is
/// learned; where they do not fit in a later one, it learns from the plan before. Ends after
/// options.evaluations steps, or, when they are not given, after kSurcoSteps; a time limit ends it
/// sooner. In one thread. Errors: kInvalidInput where tables times devices are more than
/// kMostSurcoCosts, else as Sharder.
Result<SearchResult> shard_surco(const Problem& problem, PlanEvaluator& evaluator,
                                 const SearchOptions& options);

/// Steps of shard_surco() when options give no number, as in the paper.
inline constexpr std::int64_t kSurcoSteps = 20;

/// Most surrogate costs that shard_surco() learns: 10,000 tables on 400 devices take 5 s (2-core
/// Intel Xeon virtual machine, h100_sim) and 0.2 GB.
inline constexpr std::int64_t kMostSurcoCosts = 4'000'000;

}  // namespace neuroshard::search
