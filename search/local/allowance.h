#pragma once

#include <cmath>

#include "engine/core/rng.h"

namespace neuroshard::search {

/// How much worse than now one step of an annealing may be: Metropolis' rule with the random number
/// drawn first, so that the step may be costed afterwards.
class Allowance {
 public:
  Allowance(double temperature, Rng& rng) : temperature_(temperature), draw_(rng.uniform()) {}

  /// Whether `after` is at most `now` - temperature log(1 - draw). Most steps are far from that on
  /// either side and need no logarithm: -log(1 - u) is between 0 and u / (1 - u), but for rounding.
  [[nodiscard]] bool lets(double after, double now) const {
    if (after <= now) return true;
    constexpr double kRounding = 1e-9;
    const double most = temperature_ * (draw_ / (1 - draw_));
    if (after - now > most + kRounding * (most + std::abs(now))) return false;
    return after <= now - temperature_ * std::log1p(-draw_);
  }

 private:
  double temperature_;
  double draw_;
};

}  // namespace neuroshard::search
