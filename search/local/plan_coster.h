#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// Share of a plan's cost below which a gain may be rounding.
inline constexpr double kRealGain = 1e-6;

/// Costs one plan after the other in all detail, without allocating. Not thread-safe.
class PlanCoster {
 public:
  explicit PlanCoster(const PlanEvaluator& evaluator)
      : evaluator_(evaluator),
        ready_ms_(static_cast<std::size_t>(evaluator.devices())),
        total_ms_(ready_ms_.size()) {}

  /// The cost in milliseconds, the largest total of a device, of a LocalPlan or what a LoadPlacer
  /// has placed.
  template <typename PlacedPieces>
  double cost(const PlacedPieces& plan) {
    evaluator_.plan_details(plan.batch(), {ready_ms_, total_ms_}, scratch_);
    return *std::max_element(total_ms_.begin(), total_ms_.end());
  }

  // PlanDetails of the last plan.
  [[nodiscard]] const std::vector<double>& ready_ms() const { return ready_ms_; }
  [[nodiscard]] const std::vector<double>& total_ms() const { return total_ms_; }

 private:
  const PlanEvaluator& evaluator_;
  Scratch scratch_;
  std::vector<double> ready_ms_;
  std::vector<double> total_ms_;
};

}  // namespace neuroshard::search
