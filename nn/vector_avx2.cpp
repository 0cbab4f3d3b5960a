#include "nn/vector_avx2.h"

#include <immintrin.h>

namespace neuroshard::nn::avx2 {
namespace {

using Index = std::int64_t;
constexpr int kLanes = 8;

inline __m256i lane_mask(Index count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
}

// Calls body(position, mask) for each vector of [0, count); the mask is full but for the last.
template <typename Body>
inline void for_each_vector(Index count, const Body& body) {
  Index i = 0;
  for (; i + kLanes <= count; i += kLanes) body(i, lane_mask(kLanes));
  if (i < count) body(i, lane_mask(count - i));
}

// Sums of kVectors adjacent vectors of columns.
template <int kVectors>
inline void sum_columns(Index rows, int width, const float* x, float* y) {
  __m256 sum[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sum[v] = _mm256_setzero_ps();
  for (Index r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sum[v] = _mm256_add_ps(sum[v], _mm256_loadu_ps(x + r * width + v * kLanes));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) _mm256_storeu_ps(y + v * kLanes, sum[v]);
}

inline void sum_last_columns(Index rows, int width, const float* x, float* y, __m256i mask) {
  __m256 sum = _mm256_setzero_ps();
  for (Index r = 0; r < rows; ++r) {
    sum = _mm256_add_ps(sum, _mm256_maskload_ps(x + r * width, mask));
  }
  _mm256_maskstore_ps(y, mask, sum);
}

}  // namespace

void sum_rows(Index rows, int width, const float* x, float* y) {
  int column = 0;
  for (; column + 4 * kLanes <= width; column += 4 * kLanes) {
    sum_columns<4>(rows, width, x + column, y + column);
  }
  for (; column + kLanes <= width; column += kLanes) {
    sum_columns<1>(rows, width, x + column, y + column);
  }
  if (column < width) {
    sum_last_columns(rows, width, x + column, y + column, lane_mask(width - column));
  }
}

void relu_backward(Index count, const float* y, float* dy) {
  for_each_vector(count, [&](Index i, __m256i mask) {
    const __m256 open =
        _mm256_cmp_ps(_mm256_maskload_ps(y + i, mask), _mm256_setzero_ps(), _CMP_GT_OQ);
    _mm256_maskstore_ps(dy + i, mask, _mm256_and_ps(_mm256_maskload_ps(dy + i, mask), open));
  });
}

void adam(Index count, const AdamFactors& f, const float* gradient, float* parameter, float* m,
          float* v) {
  const __m256 beta1 = _mm256_set1_ps(f.beta1);
  const __m256 beta2 = _mm256_set1_ps(f.beta2);
  const __m256 one_minus_beta1 = _mm256_set1_ps(1 - f.beta1);
  const __m256 one_minus_beta2 = _mm256_set1_ps(1 - f.beta2);
  const __m256 m_rate = _mm256_set1_ps(f.rate * f.m_scale);
  const __m256 v_scale = _mm256_set1_ps(f.v_scale);
  const __m256 epsilon = _mm256_set1_ps(f.epsilon);
  const __m256 keep = _mm256_set1_ps(f.keep);
  for_each_vector(count, [&](Index i, __m256i mask) {
    const __m256 g = _mm256_maskload_ps(gradient + i, mask);
    const __m256 m_new =
        _mm256_fmadd_ps(beta1, _mm256_maskload_ps(m + i, mask), _mm256_mul_ps(one_minus_beta1, g));
    const __m256 v_new = _mm256_fmadd_ps(beta2, _mm256_maskload_ps(v + i, mask),
                                         _mm256_mul_ps(_mm256_mul_ps(one_minus_beta2, g), g));
    const __m256 root = _mm256_add_ps(_mm256_sqrt_ps(_mm256_mul_ps(v_new, v_scale)), epsilon);
    const __m256 step = _mm256_div_ps(_mm256_mul_ps(m_rate, m_new), root);
    const __m256 old = _mm256_maskload_ps(parameter + i, mask);
    _mm256_maskstore_ps(m + i, mask, m_new);
    _mm256_maskstore_ps(v + i, mask, v_new);
    _mm256_maskstore_ps(parameter + i, mask, _mm256_fmsub_ps(old, keep, step));
  });
}

void moving_average(Index count, float keep, const float* value, float* average) {
  const __m256 kept = _mm256_set1_ps(keep);
  const __m256 added = _mm256_set1_ps(1 - keep);
  for_each_vector(count, [&](Index i, __m256i mask) {
    const __m256 part = _mm256_mul_ps(added, _mm256_maskload_ps(value + i, mask));
    const __m256 sum = _mm256_fmadd_ps(kept, _mm256_maskload_ps(average + i, mask), part);
    _mm256_maskstore_ps(average + i, mask, sum);
  });
}

}  // namespace neuroshard::nn::avx2
