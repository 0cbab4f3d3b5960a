#include "nn/inference_avx512.h"

#include <immintrin.h>

// The compute head: sums over max(sum of vectors, 0) . weight, a register of sixteen lanes at a
// time. Sizes are multiples of eight, so the last register may be half full.
namespace neuroshard::nn::avx512 {
namespace {

constexpr int kLanes = 16;
constexpr __mmask16 kAll = 0xFFFF;
constexpr __mmask16 kHalf = 0x00FF;

inline __m512 load(const float* from, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, from); }

inline __m512 relu(__m512 value) { return _mm512_max_ps(value, _mm512_setzero_ps()); }

inline float sum_of(__m512 value) {
  const __m256 high = _mm512_extractf32x8_ps(value, 1);
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(value), high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// state += addend on the lanes of `mask`; returns sum + max(state, 0) weight.
inline __m512 step(const float* addend, const float* weight, float* state, __mmask16 mask,
                   __m512 sum) {
  const __m512 value = _mm512_add_ps(load(state, mask), load(addend, mask));
  _mm512_mask_storeu_ps(state, mask, value);
  return _mm512_fmadd_ps(relu(value), load(weight, mask), sum);
}

// sum + max(parts[0] + parts[1] + ..., 0) weight on kVectors registers from `i` on.
template <int kVectors>
inline __m512 sum_step(int i, const float* const* parts, int count, const float* weight,
                       __mmask16 mask, __m512 sum) {
  __m512 value[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) value[v] = load(parts[0] + i + v * kLanes, mask);
  for (int part = 1; part < count; ++part) {
    const float* from = parts[part] + i;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      value[v] = _mm512_add_ps(value[v], load(from + v * kLanes, mask));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    sum = _mm512_fmadd_ps(relu(value[v]), load(weight + i + v * kLanes, mask), sum);
  }
  return sum;
}

// Of kRows rows: sums of max(x, -addend) weight, sixteen lanes each.
template <int kRows>
inline void max_dot(int size, const float* x, const float* addend, const float* weight,
                    __m512* sum) {
  const __m512 sign = _mm512_set1_ps(-0.0f);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) sum[r] = _mm512_setzero_ps();
  int i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const __m512 floor = _mm512_xor_ps(sign, _mm512_loadu_ps(addend + i));
    const __m512 w = _mm512_loadu_ps(weight + i);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const __m512 value = _mm512_max_ps(_mm512_loadu_ps(x + r * size + i), floor);
      sum[r] = _mm512_fmadd_ps(value, w, sum[r]);
    }
  }
  if (i == size) return;
  const __m512 floor = _mm512_xor_ps(sign, load(addend + i, kHalf));
  const __m512 w = load(weight + i, kHalf);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const __m512 value = _mm512_max_ps(load(x + r * size + i, kHalf), floor);
    sum[r] = _mm512_fmadd_ps(value, w, sum[r]);
  }
}

// Two rows' lanes in turn, halved: lane 2k is of a, 2k + 1 of b.
inline __m512 fold_two(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

// Four rows' sums within each 128 bits, in the order of the rows.
inline __m512 fold_four(const __m512* sum) {
  const __m512d ab = _mm512_castps_pd(fold_two(sum[0], sum[1]));
  const __m512d cd = _mm512_castps_pd(fold_two(sum[2], sum[3]));
  return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)),
                       _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)));
}

// The 128-bit quarters of a and of b, added in pairs: two of a, then two of b.
inline __m512 fold_quarters(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
}

}  // namespace

float add_relu_dot(int size, const float* addend, const float* weight, float* state) {
  __m512 even = _mm512_setzero_ps();
  __m512 odd = _mm512_setzero_ps();
  int i = 0;
  for (; i + 2 * kLanes <= size; i += 2 * kLanes) {
    even = step(addend + i, weight + i, state + i, kAll, even);
    odd = step(addend + i + kLanes, weight + i + kLanes, state + i + kLanes, kAll, odd);
  }
  if (i + kLanes <= size) {
    even = step(addend + i, weight + i, state + i, kAll, even);
    i += kLanes;
  }
  if (i < size) odd = step(addend + i, weight + i, state + i, kHalf, odd);
  return sum_of(_mm512_add_ps(even, odd));
}

float sum_relu_dot(int size, const float* const* parts, int count, const float* weight) {
  __m512 sum = _mm512_setzero_ps();
  int i = 0;
  for (; i + 4 * kLanes <= size; i += 4 * kLanes) {
    sum = sum_step<4>(i, parts, count, weight, kAll, sum);
  }
  for (; i + kLanes <= size; i += kLanes) sum = sum_step<1>(i, parts, count, weight, kAll, sum);
  if (i < size) sum = sum_step<1>(i, parts, count, weight, kHalf, sum);
  return sum_of(sum);
}

// Sums over a register's lanes cost as much as a row's arithmetic, so sixteen rows share them: each
// addition halves the registers, and the last has one row a lane. Fewer rows add in the same order.
void max_dot_rows(int size, std::int64_t rows, const float* x, const float* addend,
                  const float* weight, float* out) {
  __m512 sum[16];
  std::int64_t row = 0;
  for (; row + 16 <= rows; row += 16) {
    max_dot<16>(size, x + row * size, addend, weight, sum);
    const __m512 low = fold_quarters(fold_four(sum), fold_four(sum + 4));
    const __m512 high = fold_quarters(fold_four(sum + 8), fold_four(sum + 12));
    _mm512_storeu_ps(out + row, fold_quarters(low, high));
  }
  if (row + 8 <= rows) {
    max_dot<8>(size, x + row * size, addend, weight, sum);
    const __m512 pairs = fold_quarters(fold_four(sum), fold_four(sum + 4));
    _mm256_storeu_ps(out + row, _mm512_castps512_ps256(fold_quarters(pairs, pairs)));
    row += 8;
  }
  if (row + 4 <= rows) {
    max_dot<4>(size, x + row * size, addend, weight, sum);
    const __m512 four = fold_four(sum);
    const __m512 pairs = fold_quarters(four, four);
    _mm_storeu_ps(out + row, _mm512_castps512_ps128(fold_quarters(pairs, pairs)));
    row += 4;
  }
  for (; row < rows; ++row) {
    max_dot<1>(size, x + row * size, addend, weight, sum);
    const __m512 two = fold_two(sum[0], sum[0]);
    const __m512 four = _mm512_add_ps(two, _mm512_permute_ps(two, 0x4E));
    const __m512 pairs = fold_quarters(four, four);
    out[row] = _mm_cvtss_f32(_mm512_castps512_ps128(fold_quarters(pairs, pairs)));
  }
}

}  // namespace neuroshard::nn::avx512
