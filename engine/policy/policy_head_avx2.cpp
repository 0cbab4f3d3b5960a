#include <immintrin.h>

#include "engine/policy/policy_head_kernels.h"

namespace neuroshard::avx2 {
namespace {

constexpr std::size_t kVector = 8;

inline float sum_of_lanes(__m256 v) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

/// Eight hidden units of a device, times their weights. Two chains, as an addition takes four
/// cycles.
inline __m256 eight_units(const HeadRows& rows, const float* held, const float* context,
                          std::size_t first) {
  const __m256 start =
      _mm256_add_ps(_mm256_loadu_ps(rows.offered + first), _mm256_loadu_ps(rows.bias + first));
  __m256 even = _mm256_fmadd_ps(_mm256_loadu_ps(held + first), _mm256_set1_ps(rows.scale), start);
  __m256 odd = _mm256_setzero_ps();
  for (std::size_t k = 0; k < rows.inputs; k += 2) {
    const float* const weight = rows.weight + k * rows.hidden + first;
    even = _mm256_fmadd_ps(_mm256_broadcast_ss(context + k), _mm256_loadu_ps(weight), even);
    odd = _mm256_fmadd_ps(_mm256_broadcast_ss(context + k + 1),
                          _mm256_loadu_ps(weight + rows.hidden), odd);
  }
  const __m256 unit = _mm256_max_ps(_mm256_add_ps(even, odd), _mm256_setzero_ps());
  return _mm256_mul_ps(unit, _mm256_loadu_ps(rows.out + first));
}

}  // namespace

void policy_scores(const HeadRows& rows) {
  for (std::size_t d = 0; d < rows.devices; ++d) {
    __m256 sum = _mm256_setzero_ps();
    for (std::size_t first = 0; first < rows.hidden; first += kVector) {
      sum = _mm256_add_ps(sum, eight_units(rows, rows.held + d * rows.hidden,
                                           rows.context + d * rows.inputs, first));
    }
    rows.scores[d] = sum_of_lanes(sum) + rows.out_bias;
  }
}

}  // namespace neuroshard::avx2
