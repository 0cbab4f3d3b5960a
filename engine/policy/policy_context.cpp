#include "engine/policy/policy_context.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace neuroshard {
namespace {

/// Between 0 and kMostPolicyRatio, also for costs that are not above 0 or infinite.
float ratio(double part, double whole) {
  if (!(whole > 0)) return 0;
  const double value = part / whole;
  if (!(value > 0)) return 0;
  return static_cast<float>(std::min<double>(value, kMostPolicyRatio));
}

}  // namespace

/// In eight sums, which need not wait for each other. Sums of costs that are less than a
/// hundred-thousandfold apart are exact, in any order.
CostSums sum_costs(const search::Standing& standing) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  CostSums result{standing.cost_ms[0], standing.cost_after_ms[0], standing.cost_after_ms[0], 0};
  for (std::size_t d = 0; d < standing.cost_ms.size(); ++d) {
    const float after = standing.cost_after_ms[d];
    result.largest_now = std::max(result.largest_now, standing.cost_ms[d]);
    result.least_after = std::min(result.least_after, after);
    result.most_after = std::max(result.most_after, after);
    sums[d % kSums] += static_cast<double>(after);
  }
  result.after =
      ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  return result;
}

ContextScale context_scale(const search::Standing& standing, const CostSums& costs,
                           std::int64_t dims_of_all) {
  const auto devices = static_cast<std::int64_t>(standing.cost_ms.size());
  const auto count = static_cast<double>(devices);
  return {
      .placed = standing.placed,
      .share = static_cast<float>(1 / count),
      // While all devices are empty, the piece itself is the measure.
      .largest_ms = std::max<double>({0.0, costs.largest_now, costs.least_after}),
      .mean_after_ms = costs.after / count,
      .balanced_ms = standing.balanced_ms,
      .mean_dims = standing.mean_dims,
      .mean_dims_after = static_cast<double>(dims_of_all + devices * standing.piece_dims) / count,
      .memory_bytes = static_cast<double>(standing.memory_bytes),
      .piece_dims = standing.piece_dims,
      .piece_bytes = standing.piece_bytes};
}

void write_device_context(const ContextScale& scale, float after_ms, std::int64_t dims,
                          std::int64_t bytes, float* row) {
  const double after = after_ms;
  const auto own_dims = static_cast<double>(dims + scale.piece_dims);
  const auto own_bytes = static_cast<double>(bytes + scale.piece_bytes);
  row[0] = scale.placed;
  row[1] = scale.share;
  row[2] = ratio(after, scale.largest_ms);
  row[3] = ratio(after, scale.mean_after_ms);
  row[4] = ratio(after, scale.balanced_ms);
  row[5] = ratio(own_dims, scale.mean_dims);
  row[6] = ratio(own_dims, scale.mean_dims_after);
  row[7] = ratio(own_bytes, scale.memory_bytes);
}

void write_policy_context(const search::Standing& standing, std::span<float> context) {
  const std::int64_t dims =
      std::accumulate(standing.dims.begin(), standing.dims.end(), std::int64_t{0});
  const ContextScale scale = context_scale(standing, sum_costs(standing), dims);
  for (std::size_t d = 0; d < standing.cost_ms.size(); ++d) {
    write_device_context(scale, standing.cost_after_ms[d], standing.dims[d], standing.bytes[d],
                         context.data() + d * kPolicyContext);
  }
}

float policy_sum_scale(float mean_pieces) { return mean_pieces > 0 ? 1 / mean_pieces : 1.0f; }

}  // namespace neuroshard
