#pragma once

#include "search/beam.h"
#include "search/problem.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// NeuroShard's search (arXiv 2305.01868, Algorithms 1 and 2; released code ec7ca74): beam search
/// over column splits, each candidate placed by greedy grid search.
///
/// Where that finds no feasible plan, a last resort does: tables that no device holds are split
/// until they fit, then the largest shards are, until a placement without a dim cap fits; from
/// there the same search runs again. That goes on for kFirstPlanSeconds at least. Errors:
/// kInfeasible; kCancelled when it was stopped before it had a plan.
Result<SearchResult> shard_neuroshard(const Problem& problem, PlanEvaluator& evaluator,
                                      const SearchOptions& options);

/// The same with other limits than the paper's; `patience` ends the last resort.
Result<SearchResult> shard_neuroshard_within(const Problem& problem, PlanEvaluator& evaluator,
                                             const SearchOptions& options, BeamOptions beam,
                                             const StopCheck& patience);

}  // namespace neuroshard::search
