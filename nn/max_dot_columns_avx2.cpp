#include <immintrin.h>

#include "nn/max_dot_columns.h"

namespace neuroshard::nn::avx2 {
namespace {

constexpr int kLanes = 8;
/// Of the eight sums of a row, as many may differ from row to row.
constexpr int kMostSums = 5;

/// Whether the column is above -addend in some row.
inline bool differs(const MaxDotColumns& op, int i) { return !(op.most[i] <= -op.addend[i]); }

/// One of the sums that differ from row to row, of the columns i, i + 8, i + 16, ..
struct Sum {
  int first;    ///< column that differs
  float start;  ///< what those before it come to
};

inline Sum begin_sum(const MaxDotColumns& op, int lane) {
  Sum sum{lane, 0};
  for (; !differs(op, sum.first); sum.first += kLanes) {
    sum.start = __builtin_fmaf(-op.addend[sum.first], op.weight[sum.first], sum.start);
  }
  return sum;
}

/// It for the half of the rows of a block.
inline __m256 sum_of_columns(const MaxDotColumns& op, const float* half, const Sum& own) {
  __m256 sum = _mm256_set1_ps(own.start);
  for (int i = own.first; i < op.size; i += kLanes) {
    __m256 value = _mm256_set1_ps(-op.addend[i]);
    if (differs(op, i)) {
      value =
          _mm256_max_ps(value, _mm256_loadu_ps(half + static_cast<std::size_t>(i) * kColumnLanes));
    }
    sum = _mm256_fmadd_ps(value, _mm256_set1_ps(op.weight[i]), sum);
  }
  return sum;
}

/// As in max_dot_rows(): within four neighbours, then the halves.
inline __m256 add_up(const __m256* sums) {
  const __m256 low =
      _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
  const __m256 high =
      _mm256_add_ps(_mm256_add_ps(sums[4], sums[5]), _mm256_add_ps(sums[6], sums[7]));
  return _mm256_add_ps(low, high);
}

}  // namespace

bool max_dot_columns(const MaxDotColumns& op) {
  // Of rows that are -addend all over; and which sums have a column that is not in every row.
  __m256 same = _mm256_setzero_ps();
  int differ = 0;
  for (int i = 0; i < op.size; i += kLanes) {
    const __m256 floor = _mm256_xor_ps(_mm256_set1_ps(-0.0f), _mm256_loadu_ps(op.addend + i));
    same = _mm256_fmadd_ps(floor, _mm256_loadu_ps(op.weight + i), same);
    differ |= _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(op.most + i), floor, _CMP_NLE_UQ));
  }
  if (__builtin_popcount(static_cast<unsigned>(differ)) > kMostSums) return false;
  alignas(32) float values[kLanes];
  _mm256_store_ps(values, same);
  __m256 sums[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) sums[lane] = _mm256_set1_ps(values[lane]);
  Sum own[kMostSums];
  int count = 0;
  for (auto left = static_cast<unsigned>(differ); left != 0; left &= left - 1) {
    own[count++] = begin_sum(op, __builtin_ctz(left));
  }
  for (std::size_t at = 0; at < op.blocks * kColumnLanes; at += kLanes) {
    const float* const half = op.columns +
                              at / kColumnLanes * kColumnLanes * static_cast<std::size_t>(op.size) +
                              at % kColumnLanes;
    for (int k = 0; k < count; ++k) {
      sums[own[k].first % kLanes] = sum_of_columns(op, half, own[k]);
    }
    const __m256 all = _mm256_add_ps(add_up(sums), _mm256_set1_ps(op.offset));
    _mm256_storeu_ps(op.out + at, _mm256_min_ps(all, _mm256_set1_ps(__builtin_inff())));
  }
  return true;
}

}  // namespace neuroshard::nn::avx2
