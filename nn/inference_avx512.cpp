#include <immintrin.h>

#include "nn/inference_kernels.h"

// The compute head: sums over max(sum of vectors, 0) . weight, a register of sixteen lanes at a
// time. Sizes are multiples of eight, so the last register may be half full. Functions exist twice,
// for any size and for the usual one, unrolled, since a few rows cost less than the ends of loops;
// apart, for one would make room on the stack for what the other keeps there.
namespace neuroshard::nn::avx512 {
namespace {

constexpr int kLanes = 16;
constexpr int kUsual = 64;  // hidden units of the paper's head
constexpr int kAny = 0;
constexpr __mmask16 kAll = 0xFFFF;
constexpr __mmask16 kHalf = 0x00FF;

template <int kSize>
constexpr int size_of(int size) {
  return kSize == kAny ? size : kSize;
}

template <__mmask16 kMask>
inline __m512 load(const float* from) {
  if constexpr (kMask == kAll) return _mm512_loadu_ps(from);
  return _mm512_maskz_loadu_ps(kMask, from);
}

template <__mmask16 kMask>
inline void store(float* to, __m512 value) {
  if constexpr (kMask == kAll) {
    _mm512_storeu_ps(to, value);
  } else {
    _mm512_mask_storeu_ps(to, kMask, value);
  }
}

// In this order NaN stays NaN: of NaN and another, the instruction gives the second.
inline __m512 relu(__m512 value) { return _mm512_max_ps(_mm512_setzero_ps(), value); }

inline float sum_of(__m512 value) {
  const __m256 high = _mm512_extractf32x8_ps(value, 1);
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(value), high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// state += addend on the lanes of kMask; returns sum + max(state, 0) weight.
template <__mmask16 kMask>
inline __m512 step(const float* addend, const float* weight, float* state, __m512 sum) {
  const __m512 value = _mm512_add_ps(load<kMask>(state), load<kMask>(addend));
  store<kMask>(state, value);
  return _mm512_fmadd_ps(relu(value), load<kMask>(weight), sum);
}

template <int kSize>
[[gnu::noinline]] float add_relu_dot_of(int any_size, const float* addend, const float* weight,
                                        float* state) {
  const int size = size_of<kSize>(any_size);
  __m512 even = _mm512_setzero_ps();
  __m512 odd = _mm512_setzero_ps();
  int i = 0;
  for (; i + 2 * kLanes <= size; i += 2 * kLanes) {
    even = step<kAll>(addend + i, weight + i, state + i, even);
    odd = step<kAll>(addend + i + kLanes, weight + i + kLanes, state + i + kLanes, odd);
  }
  if (i + kLanes <= size) {
    even = step<kAll>(addend + i, weight + i, state + i, even);
    i += kLanes;
  }
  if (i < size) odd = step<kHalf>(addend + i, weight + i, state + i, odd);
  return sum_of(_mm512_add_ps(even, odd));
}

// sums[v % 2] += max(parts[0] + parts[1] + ..., 0) weight on kVectors registers from `i` on.
template <int kVectors, __mmask16 kMask = kAll>
inline void sum_step(int i, const float* const* parts, int count, const float* weight,
                     __m512* sums) {
  __m512 value[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) value[v] = load<kMask>(parts[0] + i + v * kLanes);
  for (int part = 1; part < count; ++part) {
    const float* from = parts[part] + i;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      value[v] = _mm512_add_ps(value[v], load<kMask>(from + v * kLanes));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const __m512 w = load<kMask>(weight + i + v * kLanes);
    sums[v % 2] = _mm512_fmadd_ps(relu(value[v]), w, sums[v % 2]);
  }
}

template <int kSize>
[[gnu::noinline]] float sum_relu_dot_of(int any_size, const float* const* parts, int count,
                                        const float* weight) {
  const int size = size_of<kSize>(any_size);
  __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  int i = 0;
  for (; i + 4 * kLanes <= size; i += 4 * kLanes) sum_step<4>(i, parts, count, weight, sums);
  for (; i + kLanes <= size; i += kLanes) sum_step<1>(i, parts, count, weight, sums);
  if (i < size) sum_step<1, kHalf>(i, parts, count, weight, sums);
  return sum_of(_mm512_add_ps(sums[0], sums[1]));
}

// What max_dot_rows() is given but for the rows.
struct Head {
  int size;
  const float* addend;
  const float* weight;
};

template <int kRows, __mmask16 kMask>
inline void max_step(const Head& head, int i, const float* x, int stride, __m512* sum) {
  const __m512 floor = _mm512_xor_ps(_mm512_set1_ps(-0.0f), load<kMask>(head.addend + i));
  const __m512 w = load<kMask>(head.weight + i);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const __m512 value = _mm512_max_ps(floor, load<kMask>(x + r * stride + i));
    sum[r] = _mm512_fmadd_ps(value, w, sum[r]);
  }
}

// Two rows' lanes in turn, halved: lane 2k is of a, 2k + 1 of b.
inline __m512 fold_two(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

// Of kRows <= 4 rows: max(x, -addend) . weight, added up within each 128 bits, which have a lane a
// row in the order of the rows; lanes beyond kRows repeat the last row.
template <int kSize, int kRows>
inline __m512 max_dot(const Head& head, const float* x) {
  const int size = size_of<kSize>(head.size);
  __m512 sum[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) sum[r] = _mm512_setzero_ps();
  int i = 0;
#pragma GCC unroll 4
  for (; i + kLanes <= size; i += kLanes) max_step<kRows, kAll>(head, i, x, size, sum);
  if (i < size) max_step<kRows, kHalf>(head, i, x, size, sum);
#pragma GCC unroll 4
  for (int r = kRows; r < 4; ++r) sum[r] = sum[kRows - 1];
  const __m512d ab = _mm512_castps_pd(fold_two(sum[0], sum[1]));
  const __m512d cd = _mm512_castps_pd(fold_two(sum[2], sum[3]));
  return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)),
                       _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)));
}

// The 128-bit quarters 0 + 2 and 1 + 3 of a, then of b.
inline __m512 fold_halves(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
}

// The quarters 0 + 1 and 2 + 3 of a, then of b.
inline __m512 fold_quarters(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
}

// The quarters (0 + 2) + (1 + 3).
inline __m128 sum_of_quarters(__m512 value) {
  const __m256 high = _mm512_extractf32x8_ps(value, 1);
  const __m256 two = _mm256_add_ps(_mm512_castps512_ps256(value), high);
  return _mm_add_ps(_mm256_castps256_ps128(two), _mm256_extractf128_ps(two, 1));
}

// The last rows, kRows < 5 of them.
template <int kSize, int kRows>
inline void last_rows(const Head& head, const float* x, float offset, float* out) {
  const __m128 sum =
      _mm_add_ps(sum_of_quarters(max_dot<kSize, kRows>(head, x)), _mm_set1_ps(offset));
  const __m128 cost = _mm_min_ps(sum, _mm_set1_ps(__builtin_inff()));  // the second one for NaN
  if constexpr (kRows == 4) {
    _mm_storeu_ps(out, cost);
  } else {
    _mm_mask_storeu_ps(out, (1U << kRows) - 1, cost);
  }
}

// Fewer than sixteen rows. Apart from more, for which there is a frame to set up.
template <int kSize>
[[gnu::noinline]] void few_rows(int any_size, std::int64_t rows, const float* x,
                                const float* addend, const float* weight, float offset,
                                float* out) {
  const Head head{any_size, addend, weight};
  const std::ptrdiff_t size = size_of<kSize>(any_size);
  for (; rows >= 4; rows -= 4, x += 4 * size, out += 4) last_rows<kSize, 4>(head, x, offset, out);
  if (rows == 3) last_rows<kSize, 3>(head, x, offset, out);
  if (rows == 2) last_rows<kSize, 2>(head, x, offset, out);
  if (rows == 1) last_rows<kSize, 1>(head, x, offset, out);
}

// Sums over a register's lanes cost as much as a row's arithmetic, so sixteen rows share them: each
// addition halves the registers, and the last has one row a lane. Fewer rows add in the same order.
template <int kSize>
[[gnu::noinline]] void many_rows(int any_size, std::int64_t rows, const float* x,
                                 const float* addend, const float* weight, float offset,
                                 float* out) {
  const Head head{any_size, addend, weight};
  const std::ptrdiff_t size = size_of<kSize>(any_size);
  for (; rows >= 16; rows -= 16, x += 16 * size, out += 16) {
    const __m512 low =
        fold_halves(max_dot<kSize, 4>(head, x), max_dot<kSize, 4>(head, x + 4 * size));
    const __m512 high =
        fold_halves(max_dot<kSize, 4>(head, x + 8 * size), max_dot<kSize, 4>(head, x + 12 * size));
    const __m512 sum = _mm512_add_ps(fold_quarters(low, high), _mm512_set1_ps(offset));
    _mm512_storeu_ps(out, _mm512_min_ps(sum, _mm512_set1_ps(__builtin_inff())));
  }
  few_rows<kSize>(any_size, rows, x, addend, weight, offset, out);
}

float add_relu_dot(int size, const float* addend, const float* weight, float* state) {
  return size == kUsual ? add_relu_dot_of<kUsual>(size, addend, weight, state)
                        : add_relu_dot_of<kAny>(size, addend, weight, state);
}

float sum_relu_dot(int size, const float* const* parts, int count, const float* weight) {
  return size == kUsual ? sum_relu_dot_of<kUsual>(size, parts, count, weight)
                        : sum_relu_dot_of<kAny>(size, parts, count, weight);
}

void max_dot_rows(int size, std::int64_t rows, const float* x, const float* addend,
                  const float* weight, float offset, float* out) {
  if (size != kUsual) return many_rows<kAny>(size, rows, x, addend, weight, offset, out);
  return rows < 16 ? few_rows<kUsual>(size, rows, x, addend, weight, offset, out)
                   : many_rows<kUsual>(size, rows, x, addend, weight, offset, out);
}

}  // namespace
}  // namespace neuroshard::nn::avx512

namespace neuroshard::nn {

const InferenceKernels kAvx512InferenceKernels{avx512::dense_packed, avx512::add_relu_dot,
                                               avx512::sum_relu_dot, avx512::max_dot_rows,
                                               avx512::max_dot_columns};

}  // namespace neuroshard::nn
