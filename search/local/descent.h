#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "search/local/cost_estimate.h"
#include "search/local/local_plan.h"
#include "search/local/local_walk.h"
#include "search/local/moves.h"
#include "search/local/plan_coster.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// Local search aimed at the bottleneck device: of all moves of one of its pieces to a device that
/// has little to do, or against a piece of that, the few that balance the two best by the costs of
/// single shards are put to the cost models, and the best of these is made; until none helps. Some
/// hundreds of plans where a walk needs many thousands, but it stops at the first local optimum.
///
/// Deterministic. Not thread-safe; one a thread, for any number of runs.
class Descent {
 public:
  Descent(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog);
  Descent(const Descent&) = delete;
  Descent& operator=(const Descent&) = delete;

  /// Descends from `start`, which has to be within the memory limit, until no move helps, `stop`
  /// says so, or a step could take it beyond `budget` candidates. Never costlier than `start`
  /// (beyond rounding).
  WalkResult run(const Assignment& start, const CommResponse& response, std::int64_t budget,
                 const StopCheck& stop);

 private:
  /// A shift of `piece` to `device`, or its swap against `other`, by the weights of the pieces.
  struct Proposal {
    double most = 0;  ///< load of the more loaded one of the two devices after it
    std::int32_t piece = kNoPiece;
    std::int32_t other = kNoPiece;  ///< none: a shift
    std::int32_t device = kNoDevice;
  };
  using Weighed = std::vector<std::pair<double, std::int32_t>>;  // loads with pieces or devices

  void start(const Assignment& start, const CommResponse& response);
  void weigh_entries(const CommResponse& response);
  [[nodiscard]] double load(std::int32_t device) const {
    return by_ready_ ? estimate_.ready_ms(device) : estimate_.own_ms(device);
  }
  [[nodiscard]] Weighed pieces_by_weight(std::int32_t device) const;
  [[nodiscard]] Weighed partners(std::int32_t from) const;
  void propose(std::int32_t from);
  void propose_to(std::int32_t from, const Weighed& own, std::int32_t to);
  std::optional<Move> best_move(std::int32_t from);
  bool step();
  bool make(const Move& move);

  const std::int64_t memory_bytes_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  LocalPlan plan_;
  PlanCoster coster_;
  CostEstimate estimate_{{}, 0};
  bool by_ready_ = false;        // a device's load: its ready time, or what else its total has
  std::vector<double> weights_;  // of each entry: what a piece adds to a device's load, about
  double cost_ = 0;
  std::int64_t candidates_ = 0;
  int flat_steps_ = 0;  // since the cost last fell
  std::vector<Proposal> proposals_;
};

}  // namespace neuroshard::search
