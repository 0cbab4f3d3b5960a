#include "engine/policy/policy_scaling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace neuroshard {
namespace {

/// The deviation of what nothing was learned about, over its size: a table that differs tenfold
/// looks like one that differs by a hundredth.
constexpr double kConstantScale = 1000;
/// Below that share of the mean a deviation is rounding.
constexpr double kLeastDeviation = 1e-6;

}  // namespace

Scaling policy_scaling(const FeatureSet& features, const Workload& pool,
                       std::span<const std::int32_t> ids) {
  const auto width = static_cast<std::size_t>(features.size());
  std::vector<float> row(width);
  std::vector<double> sum(width);
  std::vector<double> squares(width);
  double count = 0;
  for (const std::int32_t id : ids) {
    const Table& table = pool.tables[static_cast<std::size_t>(id)];
    for (const std::int32_t parts : {1, 2, 4}) {
      const std::int32_t dim = std::max(1, table.dim / parts);
      features.compute({table, {id, table.rows, dim}, pool.batch_size}, row);
      for (std::size_t f = 0; f < width; ++f) {
        sum[f] += row[f];
        squares[f] += static_cast<double>(row[f]) * row[f];
      }
      count += 1;
    }
  }
  Scaling scaling;
  for (std::size_t f = 0; f < width; ++f) {
    const double mean = sum[f] / count;
    const double deviation = std::sqrt(std::max(0.0, squares[f] / count - mean * mean));
    const bool constant = deviation <= kLeastDeviation * std::fabs(mean) || deviation == 0;
    scaling.mean.push_back(static_cast<float>(mean));
    scaling.std.push_back(
        static_cast<float>(constant ? kConstantScale * std::max(1.0, std::fabs(mean)) : deviation));
  }
  return scaling;
}

}  // namespace neuroshard
