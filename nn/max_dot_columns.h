#pragma once

#include <cstddef>

// Plain arguments only, as in nn/inference_kernels.h.
namespace neuroshard::nn {

/// Rows that are computed together, one a lane.
inline constexpr std::size_t kColumnLanes = 16;

/// InferenceKernels::max_dot_rows() of rows that are kept by columns, sixteen at a time, with the
/// largest value of each column. Where that is no more than -addend, max(x, -addend) is the same in
/// all rows, and so are most of the sums that a result is made of: they are computed once.
struct MaxDotColumns {
  int size;  ///< a multiple of 8
  std::size_t blocks;
  const float* columns;  ///< [blocks, size, kColumnLanes]
  const float* most;     ///< [size], no less than any value of the column; NaN where one may be NaN
  const float* addend;   ///< [size]
  const float* weight;   ///< [size]
  float offset;
  float* out;  ///< [blocks, kColumnLanes]
};

// The bits of max_dot_rows() of the same instruction set, as everything is added in its order.
// False, with nothing done, where so many columns differ that rows are as fast. REQUIRES a
// processor that has it.
namespace avx2 {
bool max_dot_columns(const MaxDotColumns& op);
}  // namespace avx2
namespace avx512 {
bool max_dot_columns(const MaxDotColumns& op);
}  // namespace avx512

}  // namespace neuroshard::nn
