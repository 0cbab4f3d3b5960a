#include "nn/merge.h"

#include <cassert>
#include <cstddef>
#include <utility>

namespace neuroshard::nn {
namespace {

// Copies layer k of `from` into `to`, its weights from (row, column) on, times `factor`; biases are
// added, so that parts that share their outputs sum up.
void place(const Mlp& from, std::size_t k, std::size_t row, std::size_t column, float factor,
           Mlp& to) {
  const auto inputs = static_cast<std::size_t>(from.layer(k).inputs);
  const auto outputs = static_cast<std::size_t>(from.layer(k).outputs);
  const auto stride = static_cast<std::size_t>(to.layer(k).inputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      to.weight(k)[(row + o) * stride + column + i] = factor * from.weight(k)[o * inputs + i];
    }
    to.bias(k)[row + o] += factor * from.bias(k)[o];
  }
}

Mlp merge(std::span<const Mlp> networks, bool split_inputs, bool average) {
  assert(!networks.empty());
  const auto count = static_cast<int>(networks.size());
  std::vector<DenseSpec> layers(networks[0].layers().begin(), networks[0].layers().end());
  for (std::size_t k = 0; k < layers.size(); ++k) {
    if (k > 0 || split_inputs) layers[k].inputs *= count;
    if (k + 1 < layers.size() || !average) layers[k].outputs *= count;
  }
  Mlp merged(std::move(layers));
  for (std::size_t n = 0; n < networks.size(); ++n) {
    assert(networks[n].depth() == merged.depth());
    for (std::size_t k = 0; k < merged.depth(); ++k) {
      const DenseSpec& part = networks[n].layer(k);
      const bool averaged = average && k + 1 == merged.depth();
      const std::size_t row = averaged ? 0 : n * static_cast<std::size_t>(part.outputs);
      const bool shared = k == 0 && !split_inputs;
      const std::size_t column = shared ? 0 : n * static_cast<std::size_t>(part.inputs);
      place(networks[n], k, row, column, averaged ? 1.0f / static_cast<float>(count) : 1.0f,
            merged);
    }
  }
  return merged;
}

}  // namespace

Mlp stack_side_by_side(std::span<const Mlp> networks) { return merge(networks, false, false); }

Mlp average_of(std::span<const Mlp> networks, bool split_inputs) {
  return merge(networks, split_inputs, true);
}

}  // namespace neuroshard::nn
