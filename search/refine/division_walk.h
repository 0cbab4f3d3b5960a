#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/core/rng.h"
#include "engine/core/weighted_draw.h"
#include "search/local/comm_response.h"
#include "search/local/local_walk.h"
#include "search/refine/divider.h"
#include "search/refine/piece_trials.h"

namespace neuroshard::search {

/// Metropolis search over what tables are divided into. A step divides one table anew (see
/// random_division(); also over all devices, or replicated, where the catalog has that) and then
/// places all pieces by load. That is a costly step, but moves between two devices split and join
/// one piece at a time, and pay on the way for plans in between. What it is made of must outlive
/// it. Not thread-safe; one a thread, for any number of walks.
class DivisionWalk {
 public:
  DivisionWalk(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog);

  /// For how many candidates of other walks a step counts that places so many pieces, as it takes
  /// as long.
  static std::int64_t candidates_of_step(std::size_t pieces);

  /// From the divisions of `start`, for at most `budget` candidates or until `progress` says 1. The
  /// cheapest of the plans that it has placed, which may cost more than the start; none, at an
  /// infinite cost, where the pieces of the start do not fit as they are placed.
  WalkResult run(const Assignment& start, std::int64_t budget, const CommResponse& response,
                 Rng rng, const WalkProgress& progress);

 private:
  void divide_as(const Assignment& start);
  [[nodiscard]] Pieces other_division(std::int32_t table, Rng& rng) const;
  const Pieces& pieces();

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  WeightedDraw tables_;          // by milliseconds of whole ones
  std::vector<Pieces> divided_;  // of each table
  Pieces pieces_;
};

}  // namespace neuroshard::search
