#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "engine/training/fit.h"

namespace neuroshard {

double TargetScale::learned(double ms) const {
  return target == CostTarget::kMilliseconds ? ms / unit : std::log(ms) - shift;
}

double TargetScale::milliseconds(double value) const {
  return target == CostTarget::kMilliseconds ? value * unit : std::exp(value + shift);
}

void TargetScale::fold_into(nn::Mlp& last) const {
  const std::size_t layer = last.depth() - 1;
  for (float& w : last.weight(layer)) w = static_cast<float>(w * unit);
  for (float& b : last.bias(layer)) b = static_cast<float>(b * unit + shift);
}

void TargetScale::unfold(nn::Mlp& last) const {
  const std::size_t layer = last.depth() - 1;
  for (float& w : last.weight(layer)) w = static_cast<float>(w / unit);
  for (float& b : last.bias(layer)) b = static_cast<float>((b - shift) / unit);
}

Status check_costs(std::span<const double> costs, CostTarget target) {
  if (target == CostTarget::kMilliseconds) return {};
  for (const double cost : costs) {
    if (cost > 0) continue;
    return invalid_input("a cost of " + std::to_string(cost) +
                         " ms has no logarithm; expected costs above 0");
  }
  return {};
}

Result<TargetScale> make_target_scale(std::span<const double> costs, CostTarget target,
                                      double target_scale) {
  NEUROSHARD_RETURN_IF_ERROR(check_costs(costs, target));
  TargetScale scale;
  scale.target = target;
  double sum = 0;
  for (const double cost : costs) {
    sum += target == CostTarget::kMilliseconds ? cost : std::log(cost);
  }
  const double mean = sum / static_cast<double>(costs.size());
  if (target == CostTarget::kLogMilliseconds) {
    scale.shift = mean;
  } else if (mean > 0) {
    scale.unit = mean / target_scale;
  }
  return scale;
}

Scaling make_scaling(std::span<const float> values, int width) {
  const auto columns = static_cast<std::size_t>(width);
  const std::size_t rows = values.size() / columns;
  Scaling scaling;
  for (std::size_t column = 0; column < columns; ++column) {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) sum += values[row * columns + column];
    const double mean = sum / static_cast<double>(rows);
    double squares = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const double deviation = values[row * columns + column] - mean;
      squares += deviation * deviation;
    }
    const double variance = rows > 1 ? squares / static_cast<double>(rows - 1) : 0;
    scaling.mean.push_back(static_cast<float>(mean));
    scaling.std.push_back(static_cast<float>(std::sqrt(variance) + kLeastDeviation));
  }
  return scaling;
}

std::vector<bool> constant_columns(std::span<const float> values, int width) {
  const auto columns = static_cast<std::size_t>(width);
  std::vector<bool> constant(columns, true);
  for (std::size_t i = columns; i < values.size(); ++i) {
    if (values[i] != values[i % columns]) constant[i % columns] = false;
  }
  return constant;
}

void apply_scaling(const Scaling& scaling, std::span<float> values) {
  const std::size_t columns = scaling.mean.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (values[i] - scaling.mean[i % columns]) / scaling.std[i % columns];
  }
}

}  // namespace neuroshard
