#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard {

/// Draws numbers 0, 1, .., the more often the more each weighs. Const access is thread-safe.
class WeightedDraw {
 public:
  /// Of the next number; not negative.
  void add(double weight) { up_to_.push_back((up_to_.empty() ? 0 : up_to_.back()) + weight); }
  /// REQUIRES that there is one.
  std::size_t draw(Rng& rng) const {
    const double drawn = rng.uniform() * up_to_.back();
    const auto found = std::upper_bound(up_to_.begin(), up_to_.end() - 1, drawn);
    return static_cast<std::size_t>(found - up_to_.begin());
  }

 private:
  std::vector<double> up_to_;  // the weights of all up to each
};

}  // namespace neuroshard
