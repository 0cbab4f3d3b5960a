#pragma once

#include <cstddef>
#include <cstdint>

#include "search/grid_placer.h"
#include "search/problem.h"
#include "search/shard_set.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// Limits of the search over splits (paper, Algorithm 2: K, N and L).
struct BeamOptions {
  std::size_t width = 3;        ///< plans that go on from a level
  std::size_t candidates = 10;  ///< largest and most expensive shards tried per plan
  int max_splits = 10;          ///< levels
  GridOptions grid;
};

/// The best shards found, and their placement.
struct BeamResult {
  ShardSet shards;
  Placement placement;  ///< infeasible when nothing feasible was found
  std::int64_t evaluations = 0;
  bool stopped_early = false;
};

/// Beam search over column splits from `start`: each level halves, in each plan of the beam, one
/// candidate shard in all ways, places every child by GridPlacer, and keeps the best `width` (the
/// earlier of equals; equal children are not merged). The best plan ever seen wins; a later one
/// must be strictly better. `start` is placed whatever `stop` says. Children are placed in parallel
/// on options.pool; the result does not depend on the threads.
BeamResult beam_search(const Problem& problem, PlanEvaluator& evaluator, ShardSet start,
                       const BeamOptions& beam, const SearchOptions& options,
                       const StopCheck& stop);

}  // namespace neuroshard::search
