#include <immintrin.h>

#include "bench/support/roofline_loops.h"

// The empty asm statements keep the compiler from leaving out what nobody reads.
namespace neuroshard::bench {
namespace {

using Vector = __m512;

void fma(std::int64_t rounds) {
  Vector sum[kOperations];
#pragma GCC unroll 12
  for (Vector& s : sum) s = _mm512_set1_ps(1.0f);
  Vector w = _mm512_set1_ps(0.5f);
  for (std::int64_t k = 0; k < rounds; ++k) {
    asm volatile("" : "+v"(w));
#pragma GCC unroll 12
    for (Vector& s : sum) s = _mm512_fmadd_ps(s, w, w);
  }
#pragma GCC unroll 12
  for (Vector& s : sum) asm volatile("" : : "v"(s));
}

void load(std::int64_t rounds) {
  alignas(64) float memory[kOperations * 16] = {};
  for (std::int64_t k = 0; k < rounds; ++k) {
    asm volatile("" : : "r"(memory) : "memory");
#pragma GCC unroll 12
    for (int i = 0; i < kOperations; ++i) {
      Vector value = _mm512_load_ps(memory + i * 16);
      asm volatile("" : "+v"(value));
    }
  }
}

template <bool kAdd>
void head(std::int64_t rounds) {
  constexpr int kChains = 6;
  Vector sum[kChains];
#pragma GCC unroll 6
  for (Vector& s : sum) s = _mm512_setzero_ps();
  Vector x = _mm512_set1_ps(0.5f);
  Vector a = _mm512_set1_ps(0.25f);
  Vector w = _mm512_set1_ps(0.125f);
  for (std::int64_t k = 0; k < rounds * (kOperations / kChains); ++k) {
#pragma GCC unroll 6
    for (Vector& s : sum) {
      asm volatile("" : "+v"(x));
      const Vector value =
          kAdd ? _mm512_max_ps(_mm512_add_ps(x, a), _mm512_setzero_ps()) : _mm512_max_ps(x, a);
      s = _mm512_fmadd_ps(value, w, s);
    }
  }
#pragma GCC unroll 6
  for (Vector& s : sum) asm volatile("" : : "v"(s));
}

}  // namespace

const RooflineLoops kAvx512Loops{16, fma, load, head<false>, head<true>};

}  // namespace neuroshard::bench
