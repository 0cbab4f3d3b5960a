#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace neuroshard {

/// How well predictions fit measurements. What these do not say is NaN: a report has "-" there.
struct Metrics {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  std::int64_t count = 0;
  double mse = kUnknown;   ///< mean squared error, ms^2; of at least one measurement
  double mape = kUnknown;  ///< mean |error| / measured, over the measurements above 0; 0.1 is 10 %
  double tau = kUnknown;   ///< Kendall's rank correlation, tau-b
};

/// REQUIRES as many predictions as measurements.
Metrics measure_fit(std::span<const double> predicted, std::span<const double> measured);

/// Kendall's tau-b (ties on either side discounted): 1 = the same order, -1 = the opposite. NaN
/// when one side is constant or has fewer than two values. O(n log n) (Knight 1966). REQUIRES equal
/// sizes, no NaN.
double kendall_tau(std::span<const double> a, std::span<const double> b);

}  // namespace neuroshard
