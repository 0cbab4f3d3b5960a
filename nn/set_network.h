#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nn/backend.h"
#include "nn/dense_stack.h"
#include "nn/device_array.h"

namespace neuroshard::nn {

/// A network over sets: encoder on each member, sum over the members, head on the sum (the compute
/// network of NeuroShard, section 4). Without an encoder the members are summed as they are; sets
/// of one member then make it a plain stack of dense layers.
struct SetNetworkSpec {
  std::vector<DenseSpec> encoder;  ///< may be empty
  std::vector<DenseSpec> head;

  [[nodiscard]] int inputs() const { return (encoder.empty() ? head : encoder).front().inputs; }
  [[nodiscard]] int outputs() const { return head.back().outputs; }
  /// Parameters of the encoder, then of the head.
  [[nodiscard]] std::size_t parameters() const {
    return parameter_count(encoder) + parameter_count(head);
  }
};

/// A batch of sets, in the backend's memory.
struct SetBatch {
  std::int64_t sets = 0;
  std::int64_t members = 0;               ///< of all sets together, and rows that fill them up
  const std::int32_t* offsets = nullptr;  ///< [sets + 1]; equal neighbours are an empty set
  const float* x = nullptr;               ///< [members, inputs]
};

/// Forward and backward pass of a SetNetworkSpec; rules as for DenseStack. Not thread-safe.
class SetNetwork {
 public:
  /// REQUIRES a head, and encoder outputs (when there is an encoder) == head inputs.
  SetNetwork(const Backend& backend, const SetNetworkSpec& spec);

  Status reserve(std::int64_t sets, std::int64_t members, bool with_gradients);
  /// Output [sets, outputs], valid until the next call.
  const float* forward(const float* parameters, const SetBatch& batch);
  /// [sets, outputs]: as DenseStack::output_gradient.
  [[nodiscard]] float* output_gradient() { return head_.output_gradient(); }
  /// Gradients of the last `forward` with the same arguments.
  void backward(const float* parameters, const SetBatch& batch, float* d_parameters);

 private:
  const Backend* backend_;
  DenseStack encoder_;
  DenseStack head_;
  int sum_width_;
  DeviceArray<float> sums_;  // [sets, sum_width]
  DeviceArray<float> d_sums_;
};

}  // namespace neuroshard::nn
