#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace neuroshard {

/// How well predictions fit measurements. What these do not say is NaN: a report has "-" there.
struct Metrics {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  std::int64_t count = 0;
  double mse = kUnknown;   ///< mean squared error, ms^2; of at least one measurement
  double mape = kUnknown;  ///< mean |error| / measured, over the measurements above 0; 0.1 is 10 %
  double tau = kUnknown;   ///< Kendall's rank correlation, tau-b
  /// Half width of the 90 % interval around a prediction, as a share of it: conformal_half_width().
  double half_width = kUnknown;
  /// The interval that `coverage` is of; that of the cost model, or found with other samples.
  double interval = kUnknown;
  double coverage = kUnknown;  ///< share of the measurements that lie in their interval
};

/// REQUIRES as many predictions as measurements.
Metrics measure_fit(std::span<const double> predicted, std::span<const double> measured);

/// The least share so that a further measurement is within that share of its prediction with a
/// chance of at least 90 %, if it comes from where these come from: the ceil(0.9 (n + 1))-th
/// smallest |measured - predicted| / predicted (split conformal prediction; Vovk et al. 2005). The
/// predictions have to be made without these measurements. Infinite where they are too few (below
/// 9) or too many predictions are not above 0.
double conformal_half_width(std::span<const double> predicted, std::span<const double> measured);

/// Share of the measurements within `share` of their predictions. NaN without any.
double coverage_of(double share, std::span<const double> predicted,
                   std::span<const double> measured);

/// Fills interval and coverage: with `known`, the cost model's interval, on all samples; without,
/// with the interval that half of the samples, drawn with a fixed seed, say, on the others.
void judge_interval(std::optional<double> known, std::span<const double> predicted,
                    std::span<const double> measured, Metrics& metrics);

/// Kendall's tau-b (ties on either side discounted): 1 = the same order, -1 = the opposite. NaN
/// when one side is constant or has fewer than two values. O(n log n) (Knight 1966). REQUIRES equal
/// sizes, no NaN.
double kendall_tau(std::span<const double> a, std::span<const double> b);

}  // namespace neuroshard
