#include <immintrin.h>

#include "nn/inference_kernels.h"

// Small dense layers on few rows: a tile of kRows x kVectors accumulators stays in registers while
// the inputs pass by. With few rows the tiles are wide instead of tall, so that there are always
// about eight independent chains of additions to hide their latency.
namespace neuroshard::nn::avx2 {
namespace {

constexpr int kLanes = 8;
// Hidden units of the paper's head: what a search asks most exists for this size alone, too, as a
// few rows cost less than the ends of loops. Functions apart, for one would make room on the stack
// for what the other keeps there.
constexpr int kUsual = 64;
constexpr int kAny = 0;

template <int kSize>
constexpr int size_of(int size) {
  return kSize == kAny ? size : kSize;
}

// In this order NaN stays NaN: of NaN and another, the instruction gives the second.
inline __m256 relu(__m256 value) { return _mm256_max_ps(_mm256_setzero_ps(), value); }

// Rows [row, row + kRows) of the columns [column, column + 8 kVectors).
template <int kRows, int kVectors>
inline void tile(const DenseRows& layer, std::int64_t row, int column) {
  __m256 sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const __m256 bias = _mm256_loadu_ps(layer.bias + column + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum[r][v] = bias;
  }
  const float* x = layer.x + row * layer.x_stride;
  const float* weight = layer.weight + column;
  for (int i = 0; i < layer.inputs; ++i, weight += layer.outputs) {
    __m256 w[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) w[v] = _mm256_loadu_ps(weight + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m256 value = _mm256_broadcast_ss(x + r * layer.x_stride + i);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm256_fmadd_ps(value, w[v], sum[r][v]);
    }
  }
  float* y = layer.y + row * layer.y_stride + column;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const __m256 value = layer.relu ? relu(sum[r][v]) : sum[r][v];
      _mm256_storeu_ps(y + r * layer.y_stride + v * kLanes, value);
    }
  }
}

// kRows rows over all columns: tiles of kVectors, then of 1 for what is left.
template <int kRows, int kVectors>
inline void rows_of(const DenseRows& layer, std::int64_t row) {
  int column = 0;
  for (; column + kVectors * kLanes <= layer.outputs; column += kVectors * kLanes) {
    tile<kRows, kVectors>(layer, row, column);
  }
  if constexpr (kVectors > 2) {
    for (; column + 2 * kLanes <= layer.outputs; column += 2 * kLanes) {
      tile<kRows, 2>(layer, row, column);
    }
  }
  for (; column < layer.outputs; column += kLanes) tile<kRows, 1>(layer, row, column);
}

inline float sum_of(__m256 value) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// What max_dot_rows() is given but for the rows.
struct Head {
  int size;
  const float* addend;
  const float* weight;
};

// Of kRows rows: sums of max(x, -addend) weight, eight lanes each.
template <int kSize, int kRows>
inline void max_dot(const Head& head, const float* x, __m256* sum) {
  const int size = size_of<kSize>(head.size);
  const __m256 sign = _mm256_set1_ps(-0.0f);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) sum[r] = _mm256_setzero_ps();
#pragma GCC unroll 8
  for (int i = 0; i < size; i += kLanes) {
    const __m256 floor = _mm256_xor_ps(sign, _mm256_loadu_ps(head.addend + i));
    const __m256 w = _mm256_loadu_ps(head.weight + i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m256 value = _mm256_max_ps(floor, _mm256_loadu_ps(x + r * size + i));
      sum[r] = _mm256_fmadd_ps(value, w, sum[r]);
    }
  }
}

// Four rows' lane sums at once, the halves of a register still apart: (0 + 1) + (2 + 3) of each.
inline __m256 sums_of_four(const __m256* sum) {
  return _mm256_hadd_ps(_mm256_hadd_ps(sum[0], sum[1]), _mm256_hadd_ps(sum[2], sum[3]));
}

inline __m128 sum_of_halves(__m256 value) {
  return _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
}

// The last rows, kRows < 5 of them.
template <int kSize, int kRows>
inline void last_rows(const Head& head, const float* x, float offset, float* out) {
  __m256 sum[4];
  max_dot<kSize, kRows>(head, x, sum);
#pragma GCC unroll 4
  for (int r = kRows; r < 4; ++r) sum[r] = sum[kRows - 1];
  const __m128 all = _mm_add_ps(sum_of_halves(sums_of_four(sum)), _mm_set1_ps(offset));
  const __m128 cost = _mm_min_ps(all, _mm_set1_ps(__builtin_inff()));  // the second one for NaN
  if constexpr (kRows == 4) {
    _mm_storeu_ps(out, cost);
  } else {
    float costs[4];
    _mm_storeu_ps(costs, cost);
    for (int r = 0; r < kRows; ++r) out[r] = costs[r];
  }
}

// Sums over a register's lanes cost more than a row's arithmetic, so eight rows share them. Fewer
// rows add their lanes in the same order.
template <int kSize>
[[gnu::noinline]] void max_dot_rows_of(int any_size, std::int64_t rows, const float* x,
                                       const float* addend, const float* weight, float offset,
                                       float* out) {
  const Head head{any_size, addend, weight};
  const std::ptrdiff_t size = size_of<kSize>(any_size);
  for (; rows >= 8; rows -= 8, x += 8 * size, out += 8) {
    __m256 sum[8];
    max_dot<kSize, 8>(head, x, sum);
    const __m256 low = sums_of_four(sum);
    const __m256 high = sums_of_four(sum + 4);
    const __m256 all = _mm256_add_ps(_mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20),
                                                   _mm256_permute2f128_ps(low, high, 0x31)),
                                     _mm256_set1_ps(offset));
    _mm256_storeu_ps(out, _mm256_min_ps(all, _mm256_set1_ps(__builtin_inff())));
  }
  if (rows >= 4) {
    last_rows<kSize, 4>(head, x, offset, out);
    rows -= 4;
    x += 4 * size;
    out += 4;
  }
  if (rows == 3) last_rows<kSize, 3>(head, x, offset, out);
  if (rows == 2) last_rows<kSize, 2>(head, x, offset, out);
  if (rows == 1) last_rows<kSize, 1>(head, x, offset, out);
}

// state += addend on eight floats; returns sum + max(state, 0) weight.
inline __m256 step(const float* addend, const float* weight, float* state, __m256 sum) {
  const __m256 value = _mm256_add_ps(_mm256_loadu_ps(state), _mm256_loadu_ps(addend));
  _mm256_storeu_ps(state, value);
  return _mm256_fmadd_ps(relu(value), _mm256_loadu_ps(weight), sum);
}

// sums[v % 2] += max(parts[0] + parts[1] + ..., 0) weight on kVectors registers from `i` on.
template <int kVectors>
inline void sum_step(int i, const float* const* parts, int count, const float* weight,
                     __m256* sums) {
  __m256 value[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) value[v] = _mm256_loadu_ps(parts[0] + i + v * kLanes);
  for (int part = 1; part < count; ++part) {
    const float* from = parts[part] + i;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      value[v] = _mm256_add_ps(value[v], _mm256_loadu_ps(from + v * kLanes));
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    sums[v % 2] =
        _mm256_fmadd_ps(relu(value[v]), _mm256_loadu_ps(weight + i + v * kLanes), sums[v % 2]);
  }
}

// Sixty-four columns at a time, so that the parts are gone through once in the usual case.
template <int kSize>
[[gnu::noinline]] float sum_relu_dot_of(int any_size, const float* const* parts, int count,
                                        const float* weight) {
  const int size = size_of<kSize>(any_size);
  __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  int i = 0;
  for (; i + 8 * kLanes <= size; i += 8 * kLanes) sum_step<8>(i, parts, count, weight, sums);
  for (; i + 2 * kLanes <= size; i += 2 * kLanes) sum_step<2>(i, parts, count, weight, sums);
  if (i < size) sum_step<1>(i, parts, count, weight, sums);
  return sum_of(_mm256_add_ps(sums[0], sums[1]));
}

void dense_packed(DenseRows layer) {
  const std::int64_t rows = layer.rows;
  std::int64_t row = 0;
  for (; row + 6 <= rows; row += 6) rows_of<6, 2>(layer, row);
  switch (rows - row) {
    case 5:
      rows_of<5, 2>(layer, row);
      break;
    case 4:
      rows_of<4, 2>(layer, row);
      break;
    case 3:
      rows_of<3, 2>(layer, row);
      break;
    case 2:
      rows_of<2, 4>(layer, row);
      break;
    case 1:
      rows_of<1, 8>(layer, row);
      break;
    default:
      break;
  }
}

float add_relu_dot(int size, const float* addend, const float* weight, float* state) {
  __m256 even = _mm256_setzero_ps();
  __m256 odd = _mm256_setzero_ps();
  int i = 0;
  for (; i + 2 * kLanes <= size; i += 2 * kLanes) {
    even = step(addend + i, weight + i, state + i, even);
    odd = step(addend + i + kLanes, weight + i + kLanes, state + i + kLanes, odd);
  }
  if (i < size) even = step(addend + i, weight + i, state + i, even);
  return sum_of(_mm256_add_ps(even, odd));
}

float sum_relu_dot(int size, const float* const* parts, int count, const float* weight) {
  return size == kUsual ? sum_relu_dot_of<kUsual>(size, parts, count, weight)
                        : sum_relu_dot_of<kAny>(size, parts, count, weight);
}

void max_dot_rows(int size, std::int64_t rows, const float* x, const float* addend,
                  const float* weight, float offset, float* out) {
  return size == kUsual ? max_dot_rows_of<kUsual>(size, rows, x, addend, weight, offset, out)
                        : max_dot_rows_of<kAny>(size, rows, x, addend, weight, offset, out);
}

}  // namespace
}  // namespace neuroshard::nn::avx2

namespace neuroshard::nn {

const InferenceKernels kAvx2InferenceKernels{avx2::dense_packed, avx2::add_relu_dot,
                                             avx2::sum_relu_dot, avx2::max_dot_rows,
                                             avx2::max_dot_columns};

}  // namespace neuroshard::nn
