#pragma once

#include "engine/core/plan.h"

namespace neuroshard {

/// Where a search shows the plans that it comes by and that fit, not only the best of them: one
/// that is dearer may take less memory. Calls come from one thread at a time, in an order that
/// depends on time only where the search's result does.
class PlanSink {
 public:
  virtual ~PlanSink() = default;
  /// Whether a plan of that cost would be looked at: to put one together takes a moment.
  [[nodiscard]] virtual bool wants(double cost_ms) const {
    static_cast<void>(cost_ms);
    return true;
  }
  /// A valid plan, as a rule in no particular order of shards, and what the search takes it to cost
  /// in milliseconds, which may be off by rounding.
  virtual void offer(const Plan& plan, double cost_ms) = 0;
};

}  // namespace neuroshard
