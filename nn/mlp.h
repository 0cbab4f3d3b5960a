#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard::nn {

enum class Activation { kNone, kRelu };

/// Shape of one dense layer: y[outputs] = activation(W[outputs, inputs] x[inputs] + b[outputs]).
struct DenseSpec {
  int inputs = 0;
  int outputs = 0;
  Activation activation = Activation::kNone;

  friend bool operator==(const DenseSpec&, const DenseSpec&) = default;
};

/// Weights and biases of a layer together.
inline std::size_t parameter_count(const DenseSpec& layer) {
  return (static_cast<std::size_t>(layer.inputs) + 1) * static_cast<std::size_t>(layer.outputs);
}
std::size_t parameter_count(std::span<const DenseSpec> layers);

/// Parameters of a stack of dense layers, layer after layer (weight, then bias) in one allocation,
/// so that an optimizer is one loop and a checkpoint one write. A value; copies are independent.
class Mlp {
 public:
  Mlp() = default;
  /// All parameters 0. REQUIRES sizes >= 1 and each layer's inputs == the previous layer's outputs.
  explicit Mlp(std::vector<DenseSpec> layers);

  [[nodiscard]] std::size_t depth() const { return layers_.size(); }
  [[nodiscard]] const DenseSpec& layer(std::size_t k) const { return layers_[k]; }
  [[nodiscard]] std::span<const DenseSpec> layers() const { return layers_; }
  [[nodiscard]] int inputs() const { return layers_.front().inputs; }
  [[nodiscard]] int outputs() const { return layers_.back().outputs; }

  /// Row-major [outputs, inputs] of layer k.
  [[nodiscard]] std::span<float> weight(std::size_t k);
  [[nodiscard]] std::span<const float> weight(std::size_t k) const;
  /// [outputs] of layer k.
  [[nodiscard]] std::span<float> bias(std::size_t k);
  [[nodiscard]] std::span<const float> bias(std::size_t k) const;
  /// Everything, in storage order.
  [[nodiscard]] std::span<float> parameters() { return parameters_; }
  [[nodiscard]] std::span<const float> parameters() const { return parameters_; }

 private:
  std::vector<DenseSpec> layers_;
  std::vector<std::size_t> offsets_;  // of each layer's weight
  std::vector<float> parameters_;
};

/// ReLU after every layer but the last, which has `last`. sizes = {inputs, hidden..., outputs}.
std::vector<DenseSpec> dense_stack(std::span<const int> sizes, Activation last);

/// Weights and biases uniform in +-1/sqrt(inputs), the usual initialisation of a linear layer.
void initialize(Mlp& mlp, Rng& rng);

}  // namespace neuroshard::nn
