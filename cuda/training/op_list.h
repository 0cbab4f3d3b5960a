#pragma once

// A step of training as a list of operations, looked at before it is given to the GPU. Knows no
// CUDA: what is decided here is tested without a GPU.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "nn/backend.h"

namespace neuroshard::cuda {

using TrainingOp =
    std::variant<nn::GatherRows, nn::DenseForward, nn::DenseBackward, nn::ReluBackward,
                 nn::SegmentSum, nn::SegmentSumBackward, nn::Loss, nn::Adam, nn::MovingAverage>;

/// What changes from step to step of a training. The GPU reads it from memory, so that a captured
/// step serves all of them.
struct StepScalars {
  float rate = 0;
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
  float keep = 0;     ///< share of a parameter that weight decay leaves
  float m_scale = 0;  ///< bias corrections of the moments
  float v_scale = 0;
  float keep_average = 0;  ///< share of a moving average that stays

  void take(const nn::Adam& op);
  void take(const nn::MovingAverage& op);
};

/// Whether matrix products do the passes of a layer. With one output or one row they do not: cuBLAS
/// fuses no gradient of a ReLU or a bias into a product over one value.
bool is_product(std::int64_t rows, const nn::DenseSpec& spec);

/// Most inputs of a layer, and outputs of the one above it, whose gradients one kernel works out.
inline constexpr int kNarrow = 32;

/// Whether a layer has so many rows that its weight gradient is added up in parts, the bias
/// gradient with it.
bool adds_in_parts(const nn::DenseBackward& op);

/// Operations that were issued one after the other. Not thread-safe; keeps its memory.
class OpList {
 public:
  void add(const TrainingOp& op);
  void clear();

  [[nodiscard]] bool empty() const { return ops_.empty(); }
  [[nodiscard]] std::span<const TrainingOp> ops() const { return ops_; }
  /// Every argument of every operation, pointers included, but StepScalars: lists of equal keys do
  /// the same work on the same memory.
  [[nodiscard]] const std::vector<std::uint64_t>& key() const { return key_; }
  /// What operations [first, first + count) take from memory; nothing when none of them does.
  /// REQUIRES no more than one step of Adam and one moving average among them.
  [[nodiscard]] std::optional<StepScalars> scalars(std::size_t first, std::size_t count) const;
  /// Whether one set of StepScalars serves the list.
  [[nodiscard]] bool replayable() const { return adams_ <= 1 && averages_ <= 1; }

  /// Whether operation `i`, a dense layer with a ReLU, shall keep which of its outputs are
  /// positive: a later DenseBackward sends a gradient through that ReLU.
  [[nodiscard]] bool wants_mask(std::size_t i) const;
  /// The weight gradient of the layer below operation `i`, a DenseBackward, when it is all that the
  /// gradients through operation `i` are for, adds up many rows and is narrow; null otherwise.
  [[nodiscard]] const nn::DenseBackward* ends_below(std::size_t i) const;
  /// Whether an operation carries gradients from a layer to the one before: then it overwrites
  /// nothing that weight gradients before it in the list read or write.
  static bool goes_back(const TrainingOp& op);
  /// Whether operations `i` to `i` + 2 are the end of a training step: one sum of gradients, Adam
  /// with it, the moving average of Adam's parameters.
  [[nodiscard]] bool ends_step(std::size_t i) const;
  /// The ReLU's outputs by which operation `i` + 1, a ReluBackward, gates all that operation `i`, a
  /// SegmentSumBackward, has given; null when it is something else.
  [[nodiscard]] const float* gate_behind(std::size_t i) const;

 private:
  std::vector<TrainingOp> ops_;
  std::vector<std::uint64_t> key_;
  int adams_ = 0;
  int averages_ = 0;
};

}  // namespace neuroshard::cuda
