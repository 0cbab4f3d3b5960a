#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nn/backend.h"
#include "nn/device_array.h"

namespace neuroshard::nn {

/// Forward and backward pass of a stack of dense layers, with the memory for the values between
/// layers; parameters live elsewhere, in the order of `Mlp`. Allocates only when a batch is larger
/// than any before. Not thread-safe: one stack a thread.
class DenseStack {
 public:
  /// An empty stack of layers is allowed and must not be run. `backend` must outlive it.
  DenseStack(const Backend& backend, std::vector<DenseSpec> layers);

  [[nodiscard]] std::span<const DenseSpec> layers() const { return layers_; }
  [[nodiscard]] std::size_t parameters() const { return parameter_count(layers_); }

  /// Makes room for batches of up to `rows`; with gradients if `backward` will be called.
  Status reserve(std::int64_t rows, bool with_gradients);

  /// Output [rows, outputs], valid until the next call. REQUIRES reserve(rows, ..); x[rows,
  /// inputs].
  const float* forward(const float* parameters, std::int64_t rows, const float* x);

  /// Where the gradient of the output, [rows, outputs], is expected by `backward`, which uses it
  /// up.
  [[nodiscard]] float* output_gradient() { return gradients_.back().data(); }

  /// Gradients of the last `forward` with the same arguments. d_parameters is ordered like
  /// parameters; dx [rows, inputs] may be nullptr when nobody needs it.
  void backward(const float* parameters, std::int64_t rows, const float* x, float* d_parameters,
                float* dx);

 private:
  const Backend* backend_;
  std::vector<DenseSpec> layers_;
  std::vector<DeviceArray<float>> outputs_;    // of each layer, [rows, outputs]
  std::vector<DeviceArray<float>> gradients_;  // of each layer's output
};

}  // namespace neuroshard::nn
