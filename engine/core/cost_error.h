#pragma once

#include <cmath>
#include <optional>
#include <string>

namespace neuroshard {

/// How sure a plan's cost is, to be shown wherever the cost is.
struct CostError {
  /// Half width of the interval that holds the true cost with a chance of 90 %, as a share of the
  /// cost; nothing where it is not known.
  std::optional<double> share;
  std::string basis;  ///< what the share was found from, or why there is none
};

/// Whether plans of these costs are as good as equal: a gap no larger than the error is no saving.
/// The gap is a share of `other_ms`, as savings are printed. False where the error is not known.
inline bool within_error(const CostError& error, double other_ms, double cost_ms) {
  return error.share && std::abs(other_ms - cost_ms) <= *error.share * std::abs(other_ms);
}

}  // namespace neuroshard
