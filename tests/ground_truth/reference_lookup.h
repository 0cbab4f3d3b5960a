#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/core/table.h"
#include "engine/ground_truth/cpu/index_stream.h"

namespace neuroshard::test {

/// A table, its lookups and its state in the plainest form: what the fast code must agree with.
struct ReferenceTable {
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  std::vector<float> weights;  ///< rows x dim
  std::vector<float> state;    ///< rows
  Optimizer optimizer = Optimizer::kSgd;
  IndexStream stream;

  /// Pooled rows, bags x dim.
  [[nodiscard]] std::vector<float> forward() const {
    std::vector<float> out(static_cast<std::size_t>(stream.bags() * dim), 0.0F);
    for_each_lookup([&](std::int64_t bag, std::int64_t row) {
      for (std::int64_t c = 0; c < dim; ++c) out[at(bag, c)] += weights[at(row, c)];
    });
    return out;
  }

  /// gradient, bags x dim: sums per distinct row, then one update each.
  void backward(const std::vector<float>& gradient, float learning_rate, float epsilon) {
    std::map<std::int64_t, std::vector<float>> sums;
    for_each_lookup([&](std::int64_t bag, std::int64_t row) {
      auto [found, fresh] = sums.try_emplace(row, static_cast<std::size_t>(dim), 0.0F);
      for (std::int64_t c = 0; c < dim; ++c) {
        found->second[static_cast<std::size_t>(c)] += gradient[at(bag, c)];
      }
    });
    for (const auto& [row, sum] : sums) {
      float step = learning_rate;
      if (optimizer == Optimizer::kRowwiseAdagrad) {
        float squares = 0;
        for (const float g : sum) squares += g * g;
        float& m = state[static_cast<std::size_t>(row)];
        m += squares / static_cast<float>(dim);
        step /= std::sqrt(m) + epsilon;
      }
      for (std::int64_t c = 0; c < dim; ++c) {
        weights[at(row, c)] -= step * sum[static_cast<std::size_t>(c)];
      }
    }
  }

 private:
  [[nodiscard]] std::size_t at(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * dim + column);
  }
  template <typename Body>
  void for_each_lookup(const Body& body) const {
    for (std::int64_t bag = 0; bag < stream.bags(); ++bag) {
      for (std::int64_t i = stream.offsets[static_cast<std::size_t>(bag)];
           i < stream.offsets[static_cast<std::size_t>(bag) + 1]; ++i) {
        body(bag, stream.indices[static_cast<std::size_t>(i)]);
      }
    }
  }
};

}  // namespace neuroshard::test
