#include <immintrin.h>

#include "nn/lstm_kernels.h"

// The same operations in every lane as AVX2's, and so the same bits.
namespace neuroshard::nn::avx512 {
namespace {

constexpr int kVector = 16;

/// Within 2 units in the last place of e^x; from 2^-126 on below and to 2^127 above.
inline __m512 exponential(__m512 x) {
  x = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-87.0f)), _mm512_set1_ps(88.0f));
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)),  // 1 / ln 2
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // ln 2 in two parts, so that n times the first is exact.
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  // The power series to r^7: |r| is at most ln 2 / 2, where what is left out is below 2^-25.
  constexpr float kSeries[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 1.0f / 2, 1.0f, 1.0f};
  __m512 sum = _mm512_set1_ps(1.0f / 5040);
  for (const float factor : kSeries) sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(factor));
  const __m512i power =
      _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23);
  return _mm512_mul_ps(sum, _mm512_castsi512_ps(power));
}

inline __m512 sigmoid(__m512 x) {
  const __m512 one = _mm512_set1_ps(1);
  return _mm512_div_ps(one, _mm512_add_ps(one, exponential(_mm512_sub_ps(_mm512_setzero_ps(), x))));
}

/// tanh, as the reference has it.
inline __m512 squashed(__m512 x) {
  const __m512 one = _mm512_set1_ps(1);
  const __m512 rest = _mm512_add_ps(one, exponential(_mm512_add_ps(x, x)));
  return _mm512_sub_ps(one, _mm512_div_ps(_mm512_set1_ps(2), rest));
}

/// Four vectors of gates from z = projected + recurrent x hidden on. Hidden values in pairs make
/// eight chains of additions, as many as are under way at a time.
inline void add_recurrent(const LstmStep& op, int first) {
  const int width = 4 * op.units;
  __m512 even[4];
  __m512 odd[4];
  for (int v = 0; v < 4; ++v) {
    even[v] = _mm512_loadu_ps(op.projected + first + v * kVector);
    odd[v] = _mm512_setzero_ps();
  }
  const float* weight = op.turned + first;
  for (int u = 0; u < op.units; u += 2, weight += 2 * width) {
    const __m512 one = _mm512_set1_ps(op.hidden[u]);
    const __m512 other = _mm512_set1_ps(op.hidden[u + 1]);
    for (int v = 0; v < 4; ++v) {
      even[v] = _mm512_fmadd_ps(one, _mm512_loadu_ps(weight + v * kVector), even[v]);
      odd[v] = _mm512_fmadd_ps(other, _mm512_loadu_ps(weight + width + v * kVector), odd[v]);
    }
  }
  for (int v = 0; v < 4; ++v) {
    _mm512_storeu_ps(op.gates + first + v * kVector, _mm512_add_ps(even[v], odd[v]));
  }
}

inline void open_gates(const LstmStep& op, int first) {
  float* const gates = op.gates + first;
  const __m512 input = sigmoid(_mm512_loadu_ps(gates));
  const __m512 forget = sigmoid(_mm512_loadu_ps(gates + op.units));
  const __m512 candidate = squashed(_mm512_loadu_ps(gates + 2 * op.units));
  const __m512 output = sigmoid(_mm512_loadu_ps(gates + 3 * op.units));
  const __m512 cell =
      _mm512_fmadd_ps(forget, _mm512_loadu_ps(op.cell + first), _mm512_mul_ps(input, candidate));
  _mm512_storeu_ps(gates, input);
  _mm512_storeu_ps(gates + op.units, forget);
  _mm512_storeu_ps(gates + 2 * op.units, candidate);
  _mm512_storeu_ps(gates + 3 * op.units, output);
  _mm512_storeu_ps(op.cell + first, cell);
  _mm512_storeu_ps(op.hidden + first, _mm512_mul_ps(output, squashed(cell)));
}

}  // namespace

void lstm_step(const LstmStep& op) {
  for (int first = 0; first < 4 * op.units; first += 4 * kVector) add_recurrent(op, first);
  for (int first = 0; first < op.units; first += kVector) open_gates(op, first);
}

}  // namespace neuroshard::nn::avx512
