#pragma once

#include <cstdint>
#include <vector>

#include "engine/training/train.h"
#include "nn/set_network.h"
#include "nn/trainer.h"

namespace neuroshard {

/// Learned values are (ms - 0) / unit, or log(ms) - shift: what the last layer says while it is
/// being trained.
struct TargetScale {
  CostTarget target = CostTarget::kMilliseconds;
  double unit = 1;
  double shift = 0;

  [[nodiscard]] double learned(double ms) const;
  [[nodiscard]] double milliseconds(double value) const;
  /// Rewrites the last layer so that the network says ms (or log ms) itself.
  void fold_into(nn::Mlp& last) const;
  /// The opposite: what says ms (or log ms) then says learned values.
  void unfold(nn::Mlp& last) const;
};

/// What one member of a fit learns from and is judged by: ids of samples.
struct FitPart {
  std::vector<std::int32_t> train;
  std::vector<std::int32_t> validation;
  std::vector<double> validation_ms;  ///< measured, [validation, outputs]
};

/// Networks to fit, whatever they predict: one a part.
struct FitProblem {
  nn::SetNetworkSpec network;
  std::vector<float> features;  ///< standardised, [rows, inputs]
  std::vector<bool> constant;   ///< [inputs]: columns that carry nothing
  nn::SetSamples samples;       ///< targets as learned
  std::vector<FitPart> parts;
  TargetScale scale;
  /// Whether biases begin with 0: what is learned is nearly proportional to the inputs.
  bool zero_biases = false;
  /// Weights that members begin with, encoder then head, one after the other and then the first
  /// again; empty: random ones of their own.
  std::vector<std::vector<float>> starts{};
};

/// Of a network that there is, for a problem that begins with it or judges it.
inline std::vector<nn::DenseSpec> layers_of(const nn::Mlp& mlp) {
  return {mlp.layers().begin(), mlp.layers().end()};
}

}  // namespace neuroshard
