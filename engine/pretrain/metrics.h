#pragma once

#include <cstdint>
#include <span>

namespace neuroshard {

/// How well predictions fit measurements.
struct Metrics {
  std::int64_t count = 0;
  double mse = 0;   ///< mean squared error, ms^2
  double mape = 0;  ///< mean |error| / measured, over the measurements above 0; 0.1 is 10 %
  double tau = 0;   ///< Kendall's rank correlation, tau-b
};

/// REQUIRES as many predictions as measurements.
Metrics measure_fit(std::span<const double> predicted, std::span<const double> measured);

/// Kendall's tau-b (ties on either side discounted): 1 = the same order, -1 = the opposite. 0 when
/// one side is constant or has fewer than two values. O(n log n) (Knight 1966). REQUIRES equal
/// sizes, no NaN.
double kendall_tau(std::span<const double> a, std::span<const double> b);

}  // namespace neuroshard
