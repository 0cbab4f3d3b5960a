#include "engine/training/calibration_line.h"

#include <cmath>
#include <cstddef>
#include <vector>

namespace neuroshard {

Line line_between(std::span<const double> predicted, std::span<const double> measured,
                  CostTarget target) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!(predicted[i] > 0 && measured[i] > 0)) continue;
    const double weight = 1 / (measured[i] * measured[i]);
    n += weight;
    x += weight * predicted[i];
    y += weight * measured[i];
    xx += weight * predicted[i] * predicted[i];
    xy += weight * predicted[i] * measured[i];
  }
  if (!(n > 0)) return {};
  const double spread = n * xx - x * x;
  const double factor = (n * xy - x * y) / spread;
  const bool rises = target == CostTarget::kMilliseconds && spread > 0 && factor > 0;
  return rises ? Line{factor, (y - factor * x) / n} : Line{xy / xx, 0};
}

Metrics measure_line(const Line& line, std::span<const double> predicted,
                     std::span<const double> measured) {
  std::vector<double> moved;
  for (const double ms : predicted) moved.push_back(line.factor * ms + line.offset);
  return measure_fit(moved, measured);
}

void put_on(const Line& line, CostTarget target, nn::Mlp& mlp) {
  const std::size_t layer = mlp.depth() - 1;
  if (target == CostTarget::kLogMilliseconds) {
    for (float& b : mlp.bias(layer)) b += static_cast<float>(std::log(line.factor));
    return;
  }
  for (float& w : mlp.weight(layer)) w = static_cast<float>(w * line.factor);
  for (float& b : mlp.bias(layer)) b = static_cast<float>(b * line.factor + line.offset);
}

}  // namespace neuroshard
