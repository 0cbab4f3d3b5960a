#pragma once

#include <cstdint>

#include "nn/max_dot_columns.h"

// Plain structs and tables only: sources that are compiled for an instruction set include this, and
// must not instantiate anything that other sources share.
namespace neuroshard::nn {

/// y[r, o] = sum over i of x[r, i] weight[i, o] + bias[o], then max(., 0) if `relu`, for r below
/// `rows`, i below `inputs` and o below `outputs` (padded). Rows of x and y are x_stride and
/// y_stride apart; weight is [inputs, outputs].
struct DenseRows {
  std::int64_t rows;
  int inputs;
  int outputs;
  const float* x;
  std::int64_t x_stride;
  const float* weight;
  const float* bias;
  bool relu;
  float* y;
  std::int64_t y_stride;
};

/// The operations behind a prediction, for one instruction set; max(NaN, 0) is NaN. Sizes marked
/// "padded" are multiples of kInferenceLanes (nn/inference.h); rows need no alignment but are
/// fastest at 64 bytes.
struct InferenceKernels {
  /// A row's result does not depend on the other rows.
  void (*dense)(DenseRows layer);
  /// state[i] += addend[i]; returns the sum over i of max(state[i], 0) weight[i]. `size` is padded.
  float (*add_relu_dot)(int size, const float* addend, const float* weight, float* state);
  /// The sum over i of max(parts[0][i] + parts[1][i] + ..., 0) weight[i], the `count` >= 1 parts
  /// added in that order. `size` is padded. Writes nothing but its result.
  float (*sum_relu_dot)(int size, const float* const* parts, int count, const float* weight);
  /// out[r] = offset + the sum over i of max(x[r, i], -addend[i]) weight[i], for r below `rows`,
  /// and infinity for NaN; x is [rows, size], `size` is padded. With an offset of addend . weight,
  /// which no row changes, that is max(x + addend, 0) . weight without an addition per value. A
  /// row's result does not depend on the other rows.
  void (*max_dot_rows)(int size, std::int64_t rows, const float* x, const float* addend,
                       const float* weight, float offset, float* out);
  /// The same bits of rows that are kept by columns; null where there is none.
  bool (*max_dot_columns)(const MaxDotColumns& op);
};

// Each in the sources of its instruction set, for processors that can have it.
extern const InferenceKernels kAvx2InferenceKernels;
extern const InferenceKernels kAvx512InferenceKernels;
extern const InferenceKernels kNeonInferenceKernels;

namespace avx512 {
/// The table's dense(), which has a source of its own.
void dense_packed(DenseRows layer);
}  // namespace avx512

}  // namespace neuroshard::nn
