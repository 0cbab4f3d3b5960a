#pragma once

#include "search/problem.h"

namespace neuroshard::search {

/// The paper's baselines. None splits a table.
///
/// Each table on a random device, whatever its size; infeasible when a device overflows.
Result<SearchResult> shard_random(const Problem& problem, PlanEvaluator& evaluator,
                                  const SearchOptions& options);

/// Tables in descending weight (equal weights: the larger table, then the later one first), each to
/// the least loaded device that has the memory for it (equal loads: less memory used, then lower
/// index). Weights: bytes; dim; dim x pooling factor; dim x pooling factor x log10(rows).
Result<SearchResult> shard_size_greedy(const Problem& problem, PlanEvaluator& evaluator,
                                       const SearchOptions& options);
Result<SearchResult> shard_dim_greedy(const Problem& problem, PlanEvaluator& evaluator,
                                      const SearchOptions& options);
Result<SearchResult> shard_lookup_greedy(const Problem& problem, PlanEvaluator& evaluator,
                                         const SearchOptions& options);
Result<SearchResult> shard_size_lookup_greedy(const Problem& problem, PlanEvaluator& evaluator,
                                              const SearchOptions& options);

}  // namespace neuroshard::search
