#include <arm_neon.h>

#include <cstddef>

#include "nn/inference_kernels.h"

// Sizes are multiples of eight, so everything is done in pairs of registers of four lanes. A
// multiply-add takes four cycles and there are two to four units for them: with eight or more
// chains of additions none waits for another.
namespace neuroshard::nn::neon {
namespace {

constexpr int kLanes = 4;

// Rows [row, row + kRows) of the columns [column, column + 4 kVectors). At most 24 sums: there are
// 32 registers.
template <int kRows, int kVectors>
inline void tile(const DenseRows& layer, std::int64_t row, int column) {
  float32x4_t sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const float32x4_t bias = vld1q_f32(layer.bias + column + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum[r][v] = bias;
  }
  const float* x = layer.x + row * layer.x_stride;
  const float* weight = layer.weight + column;
  for (int i = 0; i < layer.inputs; ++i, weight += layer.outputs) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const float32x4_t w = vld1q_f32(weight + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        sum[r][v] = vfmaq_n_f32(sum[r][v], w, x[r * layer.x_stride + i]);
      }
    }
  }
  float* y = layer.y + row * layer.y_stride + column;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const float32x4_t value = layer.relu ? vmaxq_f32(sum[r][v], vdupq_n_f32(0)) : sum[r][v];
      vst1q_f32(y + r * layer.y_stride + v * kLanes, value);
    }
  }
}

// kRows rows over all columns: tiles of kVectors, then of 2 for what is left.
template <int kRows, int kVectors>
inline void rows_of(const DenseRows& layer, std::int64_t row) {
  int column = 0;
  for (; column + kVectors * kLanes <= layer.outputs; column += kVectors * kLanes) {
    tile<kRows, kVectors>(layer, row, column);
  }
  for (; column < layer.outputs; column += 2 * kLanes) tile<kRows, 2>(layer, row, column);
}

// What max_dot_rows() is given but for the rows.
struct Head {
  int size;
  const float* addend;
  const float* weight;
};

// Of kRows <= 4 rows: max(x, -addend) . weight, a lane each; lanes beyond repeat the last row.
template <int kRows>
inline float32x4_t max_dot(const Head& head, const float* x) {
  float32x4_t even[4];
  float32x4_t odd[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) even[r] = odd[r] = vdupq_n_f32(0);
  for (int i = 0; i < head.size; i += 2 * kLanes) {
    const float32x4_t floor_even = vnegq_f32(vld1q_f32(head.addend + i));
    const float32x4_t floor_odd = vnegq_f32(vld1q_f32(head.addend + i + kLanes));
    const float32x4_t w_even = vld1q_f32(head.weight + i);
    const float32x4_t w_odd = vld1q_f32(head.weight + i + kLanes);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const float* from = x + r * head.size + i;
      even[r] = vfmaq_f32(even[r], vmaxq_f32(vld1q_f32(from), floor_even), w_even);
      odd[r] = vfmaq_f32(odd[r], vmaxq_f32(vld1q_f32(from + kLanes), floor_odd), w_odd);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    even[r] = r < kRows ? vaddq_f32(even[r], odd[r]) : even[kRows - 1];
  }
  return vpaddq_f32(vpaddq_f32(even[0], even[1]), vpaddq_f32(even[2], even[3]));
}

// vminnm of a number and NaN is the number.
template <int kRows>
inline float32x4_t costs_of(const Head& head, const float* x, float offset) {
  const float32x4_t sum = vaddq_f32(max_dot<kRows>(head, x), vdupq_n_f32(offset));
  return vminnmq_f32(sum, vdupq_n_f32(__builtin_inff()));
}

// state += addend on four floats; returns sum + max(state, 0) weight.
inline float32x4_t step(const float* addend, const float* weight, float* state, float32x4_t sum) {
  const float32x4_t value = vaddq_f32(vld1q_f32(state), vld1q_f32(addend));
  vst1q_f32(state, value);
  return vfmaq_f32(sum, vmaxq_f32(value, vdupq_n_f32(0)), vld1q_f32(weight));
}

// sums[v % 4] += max(parts[0] + parts[1] + ..., 0) weight on kVectors registers from `i` on.
template <int kVectors>
inline void sum_step(int i, const float* const* parts, int count, const float* weight,
                     float32x4_t* sums) {
  float32x4_t value[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) value[v] = vld1q_f32(parts[0] + i + v * kLanes);
  for (int part = 1; part < count; ++part) {
    const float* from = parts[part] + i;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) value[v] = vaddq_f32(value[v], vld1q_f32(from + v * kLanes));
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const float32x4_t active = vmaxq_f32(value[v], vdupq_n_f32(0));
    sums[v % 4] = vfmaq_f32(sums[v % 4], active, vld1q_f32(weight + i + v * kLanes));
  }
}

void dense_packed(DenseRows layer) {
  const std::int64_t rows = layer.rows;
  std::int64_t row = 0;
  for (; row + 6 <= rows; row += 6) rows_of<6, 4>(layer, row);
  if (row + 4 <= rows) {
    rows_of<4, 4>(layer, row);
    row += 4;
  }
  if (row + 2 <= rows) {
    rows_of<2, 8>(layer, row);
    row += 2;
  }
  if (row < rows) rows_of<1, 16>(layer, row);
}

float add_relu_dot(int size, const float* addend, const float* weight, float* state) {
  float32x4_t even = vdupq_n_f32(0);
  float32x4_t odd = vdupq_n_f32(0);
  for (int i = 0; i < size; i += 2 * kLanes) {
    even = step(addend + i, weight + i, state + i, even);
    odd = step(addend + i + kLanes, weight + i + kLanes, state + i + kLanes, odd);
  }
  return vaddvq_f32(vaddq_f32(even, odd));
}

float sum_relu_dot(int size, const float* const* parts, int count, const float* weight) {
  const float32x4_t zero = vdupq_n_f32(0);
  float32x4_t sums[4] = {zero, zero, zero, zero};
  int i = 0;
  for (; i + 8 * kLanes <= size; i += 8 * kLanes) sum_step<8>(i, parts, count, weight, sums);
  for (; i < size; i += 2 * kLanes) sum_step<2>(i, parts, count, weight, sums);
  return vaddvq_f32(vaddq_f32(vaddq_f32(sums[0], sums[2]), vaddq_f32(sums[1], sums[3])));
}

void max_dot_rows(int size, std::int64_t rows, const float* x, const float* addend,
                  const float* weight, float offset, float* out) {
  const Head head{size, addend, weight};
  const std::ptrdiff_t four = std::ptrdiff_t{4} * size;
  for (; rows >= 4; rows -= 4, x += four, out += 4) vst1q_f32(out, costs_of<4>(head, x, offset));
  if (rows == 0) return;
  const float32x4_t last = rows == 3   ? costs_of<3>(head, x, offset)
                           : rows == 2 ? costs_of<2>(head, x, offset)
                                       : costs_of<1>(head, x, offset);
  float costs[kLanes];
  vst1q_f32(costs, last);
  for (std::int64_t r = 0; r < rows; ++r) out[r] = costs[r];
}

}  // namespace
}  // namespace neuroshard::nn::neon

namespace neuroshard::nn {

const InferenceKernels kNeonInferenceKernels{neon::dense_packed, neon::add_relu_dot,
                                             neon::sum_relu_dot, neon::max_dot_rows, nullptr};

}  // namespace neuroshard::nn
