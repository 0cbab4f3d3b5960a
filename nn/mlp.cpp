#include "nn/mlp.h"

#include <cassert>
#include <cmath>
#include <utility>

namespace neuroshard::nn {
namespace {

std::size_t weight_count(const DenseSpec& layer) {
  return static_cast<std::size_t>(layer.inputs) * static_cast<std::size_t>(layer.outputs);
}

}  // namespace

std::size_t parameter_count(std::span<const DenseSpec> layers) {
  std::size_t total = 0;
  for (const DenseSpec& layer : layers) total += parameter_count(layer);
  return total;
}

Mlp::Mlp(std::vector<DenseSpec> layers) : layers_(std::move(layers)) {
  std::size_t total = 0;
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    assert(layers_[k].inputs >= 1 && layers_[k].outputs >= 1);
    assert(k == 0 || layers_[k].inputs == layers_[k - 1].outputs);
    offsets_.push_back(total);
    total += parameter_count(layers_[k]);
  }
  parameters_.assign(total, 0.0f);
}

std::span<float> Mlp::weight(std::size_t k) {
  return std::span(parameters_).subspan(offsets_[k], weight_count(layers_[k]));
}

std::span<const float> Mlp::weight(std::size_t k) const {
  return std::span(parameters_).subspan(offsets_[k], weight_count(layers_[k]));
}

std::span<float> Mlp::bias(std::size_t k) {
  return std::span(parameters_)
      .subspan(offsets_[k] + weight_count(layers_[k]),
               static_cast<std::size_t>(layers_[k].outputs));
}

std::span<const float> Mlp::bias(std::size_t k) const {
  return std::span(parameters_)
      .subspan(offsets_[k] + weight_count(layers_[k]),
               static_cast<std::size_t>(layers_[k].outputs));
}

std::vector<DenseSpec> dense_stack(std::span<const int> sizes, Activation last) {
  std::vector<DenseSpec> layers;
  for (std::size_t k = 0; k + 1 < sizes.size(); ++k) {
    const bool is_last = k + 2 == sizes.size();
    layers.push_back({sizes[k], sizes[k + 1], is_last ? last : Activation::kRelu});
  }
  return layers;
}

void initialize(Mlp& mlp, Rng& rng) {
  for (std::size_t k = 0; k < mlp.depth(); ++k) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(mlp.layer(k).inputs));
    for (float& w : mlp.weight(k)) w = static_cast<float>((2 * rng.uniform() - 1) * bound);
    for (float& b : mlp.bias(k)) b = static_cast<float>((2 * rng.uniform() - 1) * bound);
  }
}

}  // namespace neuroshard::nn
