#include "nn/inference_avx2.h"

#include <immintrin.h>

// Small dense layers on few rows: a tile of kRows x kVectors accumulators stays in registers while
// the inputs pass by. With few rows the tiles are wide instead of tall, so that there are always
// about eight independent chains of additions to hide their latency.
namespace neuroshard::nn::avx2 {
namespace {

constexpr int kLanes = 8;

struct Layer {
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

// Rows [row, row + kRows) of the columns [column, column + 8 kVectors).
template <int kRows, int kVectors>
inline void tile(const Layer& layer, std::int64_t row, int column) {
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
      const __m256 value = layer.relu ? _mm256_max_ps(sum[r][v], _mm256_setzero_ps()) : sum[r][v];
      _mm256_storeu_ps(y + r * layer.y_stride + v * kLanes, value);
    }
  }
}

// kRows rows over all columns: tiles of kVectors, then of 1 for what is left.
template <int kRows, int kVectors>
inline void rows_of(const Layer& layer, std::int64_t row) {
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

// Of kRows rows: sums of max(x, -addend) weight, eight lanes each.
template <int kRows>
inline void max_dot(int size, const float* x, const float* addend, const float* weight,
                    __m256* sum) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) sum[r] = _mm256_setzero_ps();
  for (int i = 0; i < size; i += kLanes) {
    const __m256 floor = _mm256_xor_ps(sign, _mm256_loadu_ps(addend + i));
    const __m256 w = _mm256_loadu_ps(weight + i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m256 value = _mm256_max_ps(_mm256_loadu_ps(x + r * size + i), floor);
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

// state += addend on eight floats; returns sum + max(state, 0) weight.
inline __m256 step(const float* addend, const float* weight, float* state, __m256 sum) {
  const __m256 value = _mm256_add_ps(_mm256_loadu_ps(state), _mm256_loadu_ps(addend));
  _mm256_storeu_ps(state, value);
  const __m256 active = _mm256_max_ps(value, _mm256_setzero_ps());
  return _mm256_fmadd_ps(active, _mm256_loadu_ps(weight), sum);
}

}  // namespace

void dense_packed(std::int64_t rows, int inputs, int outputs, const float* x, std::int64_t x_stride,
                  const float* weight, const float* bias, bool relu, float* y,
                  std::int64_t y_stride) {
  const Layer layer{inputs, outputs, x, x_stride, weight, bias, relu, y, y_stride};
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
  // Thirty-two columns at a time, so that four additions are always under way.
  constexpr int kVectors = 4;
  __m256 sum = _mm256_setzero_ps();
  int i = 0;
  for (; i + kVectors * kLanes <= size; i += kVectors * kLanes) {
    __m256 value[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) value[v] = _mm256_loadu_ps(parts[0] + i + v * kLanes);
    for (int part = 1; part < count; ++part) {
      const float* from = parts[part] + i;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        value[v] = _mm256_add_ps(value[v], _mm256_loadu_ps(from + v * kLanes));
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const __m256 active = _mm256_max_ps(value[v], _mm256_setzero_ps());
      sum = _mm256_fmadd_ps(active, _mm256_loadu_ps(weight + i + v * kLanes), sum);
    }
  }
  for (; i < size; i += kLanes) {
    __m256 value = _mm256_loadu_ps(parts[0] + i);
    for (int part = 1; part < count; ++part) {
      value = _mm256_add_ps(value, _mm256_loadu_ps(parts[part] + i));
    }
    const __m256 active = _mm256_max_ps(value, _mm256_setzero_ps());
    sum = _mm256_fmadd_ps(active, _mm256_loadu_ps(weight + i), sum);
  }
  return sum_of(sum);
}

// Sums over a register's lanes cost more than a row's arithmetic, so eight rows share them. A row
// alone adds its lanes in the same order.
void max_dot_rows(int size, std::int64_t rows, const float* x, const float* addend,
                  const float* weight, float* out) {
  __m256 sum[8];
  std::int64_t row = 0;
  for (; row + 8 <= rows; row += 8) {
    max_dot<8>(size, x + row * size, addend, weight, sum);
    const __m256 low = sums_of_four(sum);
    const __m256 high = sums_of_four(sum + 4);
    _mm256_storeu_ps(out + row, _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20),
                                              _mm256_permute2f128_ps(low, high, 0x31)));
  }
  if (row + 4 <= rows) {
    max_dot<4>(size, x + row * size, addend, weight, sum);
    _mm_storeu_ps(out + row, sum_of_halves(sums_of_four(sum)));
    row += 4;
  }
  for (; row < rows; ++row) {
    max_dot<1>(size, x + row * size, addend, weight, sum);
    const __m256 pairs = _mm256_hadd_ps(sum[0], sum[0]);
    out[row] = _mm_cvtss_f32(sum_of_halves(_mm256_hadd_ps(pairs, pairs)));
  }
}

}  // namespace neuroshard::nn::avx2
