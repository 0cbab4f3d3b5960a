#include <immintrin.h>

#include "engine/policy/policy_screen_kernels.h"

namespace neuroshard::avx512 {
namespace {

constexpr std::size_t kEight = 8;
constexpr float kInfinity = __builtin_inff();

/// Scores of kBlocks blocks, which share the loads of weights.
template <std::size_t kBlocks>
inline __m512 screen_blocks(const ScreenRows& rows, std::size_t block, __m512 highest) {
  __m512 after[kBlocks];
  __m512 ratio[kBlocks];
  __m512 sum[kBlocks];
  const std::size_t first = block * kScreenLanes;
#pragma GCC unroll 4
  for (std::size_t b = 0; b < kBlocks; ++b) {
    after[b] = _mm512_loadu_ps(rows.after + first + b * kScreenLanes);
    const __m512 dims = _mm512_add_ps(_mm512_loadu_ps(rows.dims + first + b * kScreenLanes),
                                      _mm512_set1_ps(rows.piece_dims));
    ratio[b] = _mm512_min_ps(_mm512_mul_ps(dims, _mm512_set1_ps(rows.dims_scale)),
                             _mm512_set1_ps(rows.most_ratio));
    sum[b] = _mm512_fmadd_ps(after[b], _mm512_set1_ps(rows.by_after),
                             _mm512_mul_ps(ratio[b], _mm512_set1_ps(rows.by_dims)));
  }
  const float* const settled = rows.settled + first * rows.hidden;
  for (std::size_t k = 0; k < rows.open_units; ++k) {
    const float* const unit = settled + rows.open[k].index * kScreenLanes;
    const __m512 out = _mm512_set1_ps(rows.open[k].out);
#pragma GCC unroll 4
    for (std::size_t b = 0; b < kBlocks; ++b) {
      sum[b] = _mm512_fmadd_ps(_mm512_loadu_ps(unit + b * kScreenLanes * rows.hidden), out, sum[b]);
    }
  }
  for (std::size_t k = 0; k < rows.bent_units; ++k) {
    const float* const own = settled + rows.bent[k].index * kScreenLanes;
    const __m512 by_after = _mm512_set1_ps(rows.bent[k].by_after);
    const __m512 by_dims = _mm512_set1_ps(rows.bent[k].by_dims);
    const __m512 least = _mm512_set1_ps(rows.bent[k].least);
    const __m512 out = _mm512_set1_ps(rows.bent[k].out);
#pragma GCC unroll 4
    for (std::size_t b = 0; b < kBlocks; ++b) {
      __m512 unit = _mm512_loadu_ps(own + b * kScreenLanes * rows.hidden);
      unit = _mm512_fmadd_ps(after[b], by_after, unit);
      unit = _mm512_fmadd_ps(ratio[b], by_dims, unit);
      sum[b] = _mm512_fmadd_ps(_mm512_max_ps(unit, least), out, sum[b]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t b = 0; b < kBlocks; ++b) {
    const std::size_t at = first + b * kScreenLanes;
    const __mmask16 allowed = _mm_test_epi8_mask(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows.allowed + at)), _mm_set1_epi8(-1));
    const __mmask16 beyond =
        _mm512_cmp_ps_mask(after[b], _mm512_set1_ps(rows.most_after), _CMP_NLE_UQ) |
        _mm512_cmp_ps_mask(after[b], _mm512_setzero_ps(), _CMP_NGE_UQ) |
        _mm512_cmp_ps_mask(_mm512_loadu_ps(rows.dims + at), _mm512_set1_ps(rows.most_dims),
                           _CMP_NLE_UQ);
    __m512 score = _mm512_mask_mov_ps(sum[b], beyond, _mm512_set1_ps(kInfinity));
    score = _mm512_mask_mov_ps(_mm512_set1_ps(-kInfinity), allowed, score);
    _mm512_storeu_ps(rows.scores + at, score);
    const auto counts = static_cast<__mmask16>(allowed & static_cast<__mmask16>(~beyond));
    // Of NaN and another, the instruction gives the second.
    highest = _mm512_mask_max_ps(highest, counts, score, highest);
  }
  return highest;
}

float screen(const ScreenRows& rows) {
  __m512 highest = _mm512_set1_ps(-kInfinity);
  std::size_t block = 0;
  for (; block + 4 <= rows.blocks; block += 4) highest = screen_blocks<4>(rows, block, highest);
  for (; block < rows.blocks; ++block) highest = screen_blocks<1>(rows, block, highest);
  return _mm512_reduce_max_ps(highest);
}

std::size_t find_from(std::size_t blocks, const float* scores, float least, std::int32_t* found) {
  std::size_t count = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const __m512 score = _mm512_loadu_ps(scores + block * kScreenLanes);
    unsigned mask = _mm512_cmp_ps_mask(score, _mm512_set1_ps(least), _CMP_NLT_UQ) &
                    _mm512_cmp_ps_mask(score, _mm512_set1_ps(-kInfinity), _CMP_NEQ_UQ);
    for (; mask != 0; mask &= mask - 1) {
      found[count++] = static_cast<std::int32_t>(block * kScreenLanes) + __builtin_ctz(mask);
    }
  }
  return count;
}

CostSums sum_costs(std::size_t count, const float* now, const float* after) {
  __m256 largest = _mm256_set1_ps(now[0]);
  __m256 least = _mm256_set1_ps(after[0]);
  __m256 most = least;
  __m512d sum = _mm512_setzero_pd();
  for (std::size_t d = 0; d < count; d += kEight) {
    const std::size_t left = count - d;
    const auto mask = static_cast<__mmask8>(left < kEight ? (1U << left) - 1 : 0xFFU);
    const __m256 later = _mm256_maskz_loadu_ps(mask, after + d);
    largest = _mm256_mask_max_ps(largest, mask, largest, _mm256_maskz_loadu_ps(mask, now + d));
    least = _mm256_mask_min_ps(least, mask, least, later);
    most = _mm256_mask_max_ps(most, mask, most, later);
    sum = _mm512_add_pd(sum, _mm512_cvtps_pd(later));
  }
  alignas(64) double sums[kEight];
  alignas(32) float all[3][kEight];
  _mm512_store_pd(sums, sum);
  _mm256_store_ps(all[0], largest);
  _mm256_store_ps(all[1], least);
  _mm256_store_ps(all[2], most);
  CostSums result{
      all[0][0], all[1][0], all[2][0],
      ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))};
  for (std::size_t lane = 1; lane < kEight; ++lane) {
    result.largest_now = all[0][lane] > result.largest_now ? all[0][lane] : result.largest_now;
    result.least_after = all[1][lane] < result.least_after ? all[1][lane] : result.least_after;
    result.most_after = all[2][lane] > result.most_after ? all[2][lane] : result.most_after;
  }
  return result;
}

}  // namespace
}  // namespace neuroshard::avx512

namespace neuroshard {

const ScreenKernels kAvx512ScreenKernels{avx512::sum_costs, avx512::screen, avx512::find_from};

}  // namespace neuroshard
