#include <immintrin.h>

#include "engine/policy/policy_screen_kernels.h"

namespace neuroshard::avx2 {
namespace {

constexpr std::size_t kEight = 8;
constexpr float kInfinity = __builtin_inff();
constexpr std::size_t kHalves = kScreenLanes / kEight;

/// Scores of kBlocks blocks in halves, which share the loads of weights.
template <std::size_t kBlocks>
inline __m256 screen_blocks(const ScreenRows& rows, std::size_t block, __m256 highest) {
  constexpr std::size_t kVectors = kBlocks * kHalves;
  __m256 after[kVectors];
  __m256 ratio[kVectors];
  __m256 sum[kVectors];
  const std::size_t first = block * kScreenLanes;
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) {
    after[v] = _mm256_loadu_ps(rows.after + first + v * kEight);
    const __m256 dims = _mm256_add_ps(_mm256_loadu_ps(rows.dims + first + v * kEight),
                                      _mm256_set1_ps(rows.piece_dims));
    ratio[v] = _mm256_min_ps(_mm256_mul_ps(dims, _mm256_set1_ps(rows.dims_scale)),
                             _mm256_set1_ps(rows.most_ratio));
    sum[v] = _mm256_fmadd_ps(after[v], _mm256_set1_ps(rows.by_after),
                             _mm256_mul_ps(ratio[v], _mm256_set1_ps(rows.by_dims)));
  }
  const float* const settled = rows.settled + first * rows.hidden;
  for (std::size_t k = 0; k < rows.open_units; ++k) {
    const float* const unit = settled + rows.open[k].index * kScreenLanes;
    const __m256 out = _mm256_set1_ps(rows.open[k].out);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      sum[v] = _mm256_fmadd_ps(
          _mm256_loadu_ps(unit + v / kHalves * kScreenLanes * rows.hidden + v % kHalves * kEight),
          out, sum[v]);
    }
  }
  for (std::size_t k = 0; k < rows.bent_units; ++k) {
    const float* const own = settled + rows.bent[k].index * kScreenLanes;
    const __m256 by_after = _mm256_set1_ps(rows.bent[k].by_after);
    const __m256 by_dims = _mm256_set1_ps(rows.bent[k].by_dims);
    const __m256 least = _mm256_set1_ps(rows.bent[k].least);
    const __m256 out = _mm256_set1_ps(rows.bent[k].out);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      __m256 unit =
          _mm256_loadu_ps(own + v / kHalves * kScreenLanes * rows.hidden + v % kHalves * kEight);
      unit = _mm256_fmadd_ps(after[v], by_after, unit);
      unit = _mm256_fmadd_ps(ratio[v], by_dims, unit);
      sum[v] = _mm256_fmadd_ps(_mm256_max_ps(unit, least), out, sum[v]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) {
    const std::size_t at = first + v * kEight;
    const __m256i bytes =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows.allowed + at)));
    const __m256 refused = _mm256_castsi256_ps(_mm256_cmpeq_epi32(bytes, _mm256_setzero_si256()));
    const __m256 beyond = _mm256_or_ps(
        _mm256_or_ps(_mm256_cmp_ps(after[v], _mm256_set1_ps(rows.most_after), _CMP_NLE_UQ),
                     _mm256_cmp_ps(after[v], _mm256_setzero_ps(), _CMP_NGE_UQ)),
        _mm256_cmp_ps(_mm256_loadu_ps(rows.dims + at), _mm256_set1_ps(rows.most_dims),
                      _CMP_NLE_UQ));
    __m256 score = _mm256_blendv_ps(sum[v], _mm256_set1_ps(kInfinity), beyond);
    score = _mm256_blendv_ps(score, _mm256_set1_ps(-kInfinity), refused);
    _mm256_storeu_ps(rows.scores + at, score);
    const __m256 counts = _mm256_blendv_ps(score, _mm256_set1_ps(-kInfinity), beyond);
    // Of NaN and another, the instruction gives the second.
    highest = _mm256_max_ps(counts, highest);
  }
  return highest;
}

float screen(const ScreenRows& rows) {
  __m256 highest = _mm256_set1_ps(-kInfinity);
  std::size_t block = 0;
  for (; block + 2 <= rows.blocks; block += 2) highest = screen_blocks<2>(rows, block, highest);
  for (; block < rows.blocks; ++block) highest = screen_blocks<1>(rows, block, highest);
  alignas(32) float lanes[kEight];
  _mm256_store_ps(lanes, highest);
  float result = lanes[0];
  for (const float lane : lanes) result = lane > result ? lane : result;
  return result;
}

std::size_t find_from(std::size_t blocks, const float* scores, float least, std::int32_t* found) {
  std::size_t count = 0;
  for (std::size_t first = 0; first < blocks * kScreenLanes; first += kEight) {
    const __m256 score = _mm256_loadu_ps(scores + first);
    const __m256 high =
        _mm256_and_ps(_mm256_cmp_ps(score, _mm256_set1_ps(least), _CMP_NLT_UQ),
                      _mm256_cmp_ps(score, _mm256_set1_ps(-kInfinity), _CMP_NEQ_UQ));
    auto mask = static_cast<unsigned>(_mm256_movemask_ps(high));
    for (; mask != 0; mask &= mask - 1) {
      found[count++] = static_cast<std::int32_t>(first) + __builtin_ctz(mask);
    }
  }
  return count;
}

CostSums sum_costs(std::size_t count, const float* now, const float* after) {
  __m256 largest = _mm256_set1_ps(now[0]);
  __m256 least = _mm256_set1_ps(after[0]);
  __m256 most = least;
  __m256d low = _mm256_setzero_pd();
  __m256d high = _mm256_setzero_pd();
  std::size_t d = 0;
  for (; d + kEight <= count; d += kEight) {
    const __m256 later = _mm256_loadu_ps(after + d);
    largest = _mm256_max_ps(largest, _mm256_loadu_ps(now + d));
    least = _mm256_min_ps(least, later);
    most = _mm256_max_ps(most, later);
    low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(later)));
    high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(later, 1)));
  }
  alignas(32) double sums[kEight];
  alignas(32) float all[3][kEight];
  _mm256_store_pd(sums, low);
  _mm256_store_pd(sums + kEight / 2, high);
  _mm256_store_ps(all[0], largest);
  _mm256_store_ps(all[1], least);
  _mm256_store_ps(all[2], most);
  for (std::size_t lane = 0; d < count; ++d, ++lane) {
    sums[lane] += static_cast<double>(after[d]);
    all[0][lane] = now[d] > all[0][lane] ? now[d] : all[0][lane];
    all[1][lane] = after[d] < all[1][lane] ? after[d] : all[1][lane];
    all[2][lane] = after[d] > all[2][lane] ? after[d] : all[2][lane];
  }
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
}  // namespace neuroshard::avx2

namespace neuroshard {

const ScreenKernels kAvx2ScreenKernels{avx2::sum_costs, avx2::screen, avx2::find_from};

}  // namespace neuroshard
