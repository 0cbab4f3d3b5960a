#pragma once

#include "search/local/local_plan.h"
#include "search/local/moves.h"

namespace neuroshard::search {

/// What a walk asks about a move beside costs and memory: whether it may be made, and what it
/// weighs in the objective. It may keep account of the plan, as it hears of every move that is
/// made, stands or is taken back. Not thread-safe; one a walk.
class MoveGuard {
 public:
  virtual ~MoveGuard() = default;

  /// Milliseconds that weight_ms() has more after the move; infinity: `plan` may not have it.
  virtual double price_ms(const LocalPlan& plan, const Move& move) = 0;
  /// The move that was priced last is made.
  virtual void make() = 0;
  /// The moves made so far stand; if `best`, the plan is the best one of the walk.
  virtual void stand(bool best) = 0;
  /// All moves made since they last stood are taken back.
  virtual void take_back() = 0;
  /// Milliseconds that the plan's objective has beside its costs.
  [[nodiscard]] virtual double weight_ms() const = 0;
};

}  // namespace neuroshard::search
