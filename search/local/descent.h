#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "search/local/cost_estimate.h"
#include "search/local/local_plan.h"
#include "search/local/local_walk.h"
#include "search/local/moves.h"
#include "search/local/plan_coster.h"
#include "search/local/proposals.h"

namespace neuroshard::search {

/// Local search aimed at the device that decides the cost: of all moves that take load off it, the
/// few that level it best with another device by the costs of single shards are put to the cost
/// models, and the best of these is made; until none helps. Some hundreds of plans where a walk
/// needs many thousands, but it stops at the first local optimum.
///
/// Deterministic. Not thread-safe; one a thread, for any number of runs.
class Descent {
 public:
  Descent(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog);
  Descent(const Descent&) = delete;
  Descent& operator=(const Descent&) = delete;

  /// Whether to stop, asked before every move with the candidates looked at so far.
  using Stop = std::function<bool(std::int64_t candidates)>;

  /// Descends from `start`, which has to be within the memory limit, until no move helps or `stop`
  /// says so. Never dearer than `start` (beyond rounding).
  WalkResult run(const Assignment& start, const CommResponse& response, const Stop& stop);

 private:
  using Target = Proposals::Target;

  struct Priced {
    double key = 0;
    Move move;
  };
  void start(const Assignment& start, const CommResponse& response);
  bool step(Target target);
  void price_best(Target target, std::int32_t from);
  bool make(const Move& move);

  const std::int64_t memory_bytes_;
  LocalPlan plan_;
  PlanCoster coster_;
  CostEstimate estimate_{{}, 0};
  double cost_ = 0;
  std::int64_t candidates_ = 0;
  int level_steps_ = 0;  // since the cost last fell
  Proposals proposals_;
  std::vector<Priced> priced_;
};

}  // namespace neuroshard::search
