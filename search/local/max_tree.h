#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace neuroshard::search {

/// Values by index with their maximum at hand: setting one, and the maximum of all but two, take
/// log2(values) comparisons. Equal values: the lower index is the maximum. Not thread-safe.
class MaxTree {
 public:
  void reset(std::span<const double> values) {
    count_ = 1;
    while (count_ < values.size()) count_ *= 2;
    nodes_.assign(2 * count_, -std::numeric_limits<double>::infinity());
    std::copy(values.begin(), values.end(), nodes_.begin() + static_cast<std::ptrdiff_t>(count_));
    for (std::size_t node = count_ - 1; node >= 1; --node) update(node);
  }

  [[nodiscard]] double operator[](std::int32_t index) const { return nodes_[leaf(index)]; }
  [[nodiscard]] double max() const { return nodes_[1]; }

  [[nodiscard]] std::int32_t argmax() const {
    std::size_t node = 1;
    // Never to where no value is, whatever the values.
    while (node < count_) node = 2 * node + (nodes_[2 * node + 1] > nodes_[2 * node] ? 1 : 0);
    return static_cast<std::int32_t>(node - count_);
  }

  void set(std::int32_t index, double value) {
    nodes_[leaf(index)] = value;
    for (std::size_t node = leaf(index) / 2; node >= 1; node /= 2) update(node);
  }

  /// Minus infinity when there are no others.
  [[nodiscard]] double max_without(std::int32_t one, std::int32_t other) const {
    double most = -std::numeric_limits<double>::infinity();
    std::size_t a = leaf(one);
    std::size_t b = leaf(other);
    for (; a != b; a /= 2, b /= 2) {
      if ((a ^ 1) != b) most = std::max({most, nodes_[a ^ 1], nodes_[b ^ 1]});
    }
    for (; a > 1; a /= 2) most = std::max(most, nodes_[a ^ 1]);
    return most;
  }

 private:
  [[nodiscard]] std::size_t leaf(std::int32_t index) const {
    return count_ + static_cast<std::size_t>(index);
  }
  void update(std::size_t node) { nodes_[node] = std::max(nodes_[2 * node], nodes_[2 * node + 1]); }

  std::size_t count_ = 0;
  std::vector<double> nodes_;
};

}  // namespace neuroshard::search
