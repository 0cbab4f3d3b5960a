#include "engine/policy/policy_context.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace neuroshard {
namespace {

constexpr float kMostRatio = 8;

/// Between 0 and kMostRatio, also for costs that are not above 0 or infinite.
float ratio(double part, double whole) {
  if (!(whole > 0)) return 0;
  const double value = part / whole;
  if (!(value > 0)) return 0;
  return static_cast<float>(std::min<double>(value, kMostRatio));
}

}  // namespace

void write_policy_context(const search::Standing& standing, std::span<float> context) {
  const std::size_t devices = standing.cost_ms.size();
  double largest = 0;
  double sum_after = 0;
  double sum_dims = 0;
  float least_after = standing.cost_after_ms[0];
  for (std::size_t d = 0; d < devices; ++d) {
    largest = std::max<double>(largest, standing.cost_ms[d]);
    least_after = std::min(least_after, standing.cost_after_ms[d]);
    sum_after += standing.cost_after_ms[d];
    sum_dims += static_cast<double>(standing.dims[d] + standing.piece_dims);
  }
  // While all devices are empty, the piece itself is the measure.
  largest = std::max<double>(largest, least_after);
  const auto count = static_cast<double>(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    const double after = standing.cost_after_ms[d];
    const auto dims = static_cast<double>(standing.dims[d] + standing.piece_dims);
    const auto bytes = static_cast<double>(standing.bytes[d] + standing.piece_bytes);
    float* const row = context.data() + d * kPolicyContext;
    row[0] = standing.placed;
    row[1] = static_cast<float>(1 / count);
    row[2] = ratio(after, largest);
    row[3] = ratio(after, sum_after / count);
    row[4] = ratio(after, standing.balanced_ms);
    row[5] = ratio(dims, standing.mean_dims);
    row[6] = ratio(dims, sum_dims / count);
    row[7] = ratio(bytes, static_cast<double>(standing.memory_bytes));
  }
}

float policy_sum_scale(float mean_pieces) { return mean_pieces > 0 ? 1 / mean_pieces : 1.0f; }

}  // namespace neuroshard
