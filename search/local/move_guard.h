#pragma once

#include "search/local/local_plan.h"
#include "search/local/moves.h"

namespace neuroshard::search {

/// What a walk asks before it makes a move, by more than costs and memory: it may keep account of
/// the plan, as it hears of every move that stands or is taken back. Not thread-safe; one a walk.
class MoveGuard {
 public:
  virtual ~MoveGuard() = default;

  /// Whether `plan` may have the move, which it is then given at once.
  virtual bool admit(const LocalPlan& plan, const Move& move) = 0;
  /// The moves admitted so far stand; if `best`, the plan is the best one of the walk.
  virtual void stand(bool best) = 0;
  /// All moves admitted since they last stood are taken back.
  virtual void take_back() = 0;
};

}  // namespace neuroshard::search
