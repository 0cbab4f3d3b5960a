#include <immintrin.h>

#include "nn/max_dot_columns.h"

namespace neuroshard::nn::avx512 {
namespace {

constexpr int kLanes = 16;
/// Of the sixteen sums of a row, as many may differ from row to row.
constexpr int kMostSums = 8;

/// Whether the column is above -addend in some row.
inline bool differs(const MaxDotColumns& op, int i) { return !(op.most[i] <= -op.addend[i]); }

/// One of the sums that differ from row to row, of the columns i, i + 16, i + 32, ..
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

/// It for the rows of a block.
inline __m512 sum_of_columns(const MaxDotColumns& op, const float* block, const Sum& own) {
  __m512 sum = _mm512_set1_ps(own.start);
  for (int i = own.first; i < op.size; i += kLanes) {
    __m512 value = _mm512_set1_ps(-op.addend[i]);
    if (differs(op, i)) {
      value =
          _mm512_max_ps(value, _mm512_loadu_ps(block + static_cast<std::size_t>(i) * kColumnLanes));
    }
    sum = _mm512_fmadd_ps(value, _mm512_set1_ps(op.weight[i]), sum);
  }
  return sum;
}

/// As in max_dot_rows(): within four neighbours, then over the quarters.
inline __m512 add_up(const __m512* sums) {
  __m512 quarter[4];
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    const __m512* const own = sums + 4 * q;
    quarter[q] = _mm512_add_ps(_mm512_add_ps(own[0], own[2]), _mm512_add_ps(own[1], own[3]));
  }
  return _mm512_add_ps(_mm512_add_ps(quarter[0], quarter[2]),
                       _mm512_add_ps(quarter[1], quarter[3]));
}

}  // namespace

bool max_dot_columns(const MaxDotColumns& op) {
  // Of rows that are -addend all over; and which sums have a column that is not in every row.
  __m512 same = _mm512_setzero_ps();
  unsigned differ = 0;
  for (int i = 0; i < op.size; i += kLanes) {
    const __mmask16 there = op.size - i < kLanes ? 0x00FF : 0xFFFF;
    const __m512 floor =
        _mm512_xor_ps(_mm512_set1_ps(-0.0f), _mm512_maskz_loadu_ps(there, op.addend + i));
    same = _mm512_fmadd_ps(floor, _mm512_maskz_loadu_ps(there, op.weight + i), same);
    differ |= _mm512_mask_cmp_ps_mask(there, _mm512_maskz_loadu_ps(there, op.most + i), floor,
                                      _CMP_NLE_UQ);
  }
  if (__builtin_popcount(differ) > kMostSums) return false;
  alignas(64) float values[kLanes];
  _mm512_store_ps(values, same);
  __m512 sums[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) sums[lane] = _mm512_set1_ps(values[lane]);
  Sum own[kMostSums];
  int count = 0;
  for (auto left = static_cast<unsigned>(differ); left != 0; left &= left - 1) {
    own[count++] = begin_sum(op, __builtin_ctz(left));
  }
  for (std::size_t block = 0; block < op.blocks; ++block) {
    const float* const columns =
        op.columns + block * kColumnLanes * static_cast<std::size_t>(op.size);
    for (int k = 0; k < count; ++k) {
      sums[own[k].first % kLanes] = sum_of_columns(op, columns, own[k]);
    }
    const __m512 all = _mm512_add_ps(add_up(sums), _mm512_set1_ps(op.offset));
    _mm512_storeu_ps(op.out + block * kColumnLanes,
                     _mm512_min_ps(all, _mm512_set1_ps(__builtin_inff())));
  }
  return true;
}

}  // namespace neuroshard::nn::avx512
