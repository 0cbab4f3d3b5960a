#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "nn/inference_kernels.h"
#include "nn/isa.h"
#include "nn/mlp.h"

namespace neuroshard::nn {

/// Rows of floats that the inference kernels work on are padded with zeros to a multiple of this.
inline constexpr int kInferenceLanes = 8;
inline constexpr int padded_width(int width) {
  return (width + kInferenceLanes - 1) / kInferenceLanes * kInferenceLanes;
}

/// The table of one instruction set; kScalar is the reference and gives the same bits on every
/// compiler. REQUIRES that this processor has `isa`.
const InferenceKernels& inference_kernels(Isa isa);

/// An Mlp laid out for prediction: weights transposed to [inputs, padded outputs], so that one
/// input value meets a row of adjacent weights. Immutable; thread-safe.
class PackedMlp {
 public:
  /// REQUIRES mlp.depth() >= 1.
  PackedMlp(const Mlp& mlp, const InferenceKernels& kernels);

  [[nodiscard]] int inputs() const { return layers_.front().inputs; }
  [[nodiscard]] int outputs() const { return layers_.back().outputs; }
  /// Distance of the rows that forward() writes.
  [[nodiscard]] int output_stride() const { return padded_width(outputs()); }
  /// Floats of scratch that forward() needs for `rows` rows.
  [[nodiscard]] std::size_t scratch_size(std::int64_t rows) const;

  /// Groups of rows whose first inputs are the same for all rows of a group.
  struct Groups {
    std::int64_t groups = 0;
    std::int64_t rows = 0;            ///< of each
    int common = 0;                   ///< inputs, 0 <= common <= inputs()
    const float* common_x = nullptr;  ///< [groups, common]
    const float* x = nullptr;         ///< [groups, rows, inputs() - common], the others
  };
  /// Floats of scratch that forward_groups() needs.
  [[nodiscard]] std::size_t scratch_size(const Groups& groups) const;
  /// y[groups, rows, output_stride()], the first layer of the common inputs computed once a group:
  /// as if by forward() but for rounding. A group's result does not depend on the others.
  void forward_groups(const Groups& groups, float* scratch, float* y) const;

  /// y[rows, output_stride()] = network(x[rows, inputs()]), rows of x `x_stride` apart. Padding
  /// columns of y become 0.
  void forward(std::int64_t rows, const float* x, std::int64_t x_stride, float* scratch,
               float* y) const;

 private:
  struct Layer {
    int inputs;
    int outputs;
    bool relu;
    std::size_t weight;  // offsets into parameters_
    std::size_t bias;
  };

  void forward_from(std::size_t layer, std::int64_t rows, const float* x, std::int64_t x_stride,
                    float* scratch, float* other, float* y) const;

  const InferenceKernels* kernels_;
  std::vector<Layer> layers_;
  int widest_ = 0;
  AlignedVector<float> parameters_;
};

}  // namespace neuroshard::nn
