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

/// Devices that share a load of weights.
constexpr std::size_t kTogether = 4;

/// Adds eight hidden units of each of kDevices devices, times their weights, to sums. Two chains a
/// device, as an addition takes four cycles.
template <std::size_t kDevices>
inline void add_eight_units(const HeadRows& rows, std::size_t device, std::size_t first,
                            __m256* sums) {
  const __m256 start =
      _mm256_add_ps(_mm256_loadu_ps(rows.offered + first), _mm256_loadu_ps(rows.bias + first));
  const float* const held = rows.held + device * rows.hidden + first;
  const float* const context = rows.context + device * rows.inputs;
  __m256 even[kDevices];
  __m256 odd[kDevices];
  for (std::size_t d = 0; d < kDevices; ++d) {
    even[d] =
        _mm256_fmadd_ps(_mm256_loadu_ps(held + d * rows.hidden), _mm256_set1_ps(rows.scale), start);
    odd[d] = _mm256_setzero_ps();
  }
  for (std::size_t k = 0; k < rows.inputs; k += 2) {
    const __m256 weight = _mm256_loadu_ps(rows.weight + k * rows.hidden + first);
    const __m256 next = _mm256_loadu_ps(rows.weight + (k + 1) * rows.hidden + first);
    for (std::size_t d = 0; d < kDevices; ++d) {
      const float* const inputs = context + d * rows.inputs + k;
      even[d] = _mm256_fmadd_ps(_mm256_broadcast_ss(inputs), weight, even[d]);
      odd[d] = _mm256_fmadd_ps(_mm256_broadcast_ss(inputs + 1), next, odd[d]);
    }
  }
  const __m256 out = _mm256_loadu_ps(rows.out + first);
  for (std::size_t d = 0; d < kDevices; ++d) {
    const __m256 unit = _mm256_max_ps(_mm256_add_ps(even[d], odd[d]), _mm256_setzero_ps());
    // By name: compilers may contract a product and a sum, and clang does so for some kDevices
    // only.
    sums[d] = _mm256_fmadd_ps(unit, out, sums[d]);
  }
}

/// The same bits whatever kDevices.
template <std::size_t kDevices>
inline void score_devices(const HeadRows& rows, std::size_t device) {
  __m256 sums[kDevices];
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  for (std::size_t first = 0; first < rows.hidden; first += kVector) {
    add_eight_units<kDevices>(rows, device, first, sums);
  }
  for (std::size_t d = 0; d < kDevices; ++d) {
    rows.scores[device + d] = sum_of_lanes(sums[d]) + rows.out_bias;
  }
}

}  // namespace

void policy_scores(const HeadRows& rows) {
  std::size_t device = 0;
  for (; device + kTogether <= rows.devices; device += kTogether) {
    score_devices<kTogether>(rows, device);
  }
  for (; device < rows.devices; ++device) score_devices<1>(rows, device);
}

}  // namespace neuroshard::avx2
