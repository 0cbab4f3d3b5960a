#include <immintrin.h>

#include "bench/support/roofline_loops.h"

// The empty asm statements keep the compiler from leaving out what nobody reads.
namespace neuroshard::bench {
namespace {

using Vector = __m256;

void fma(std::int64_t rounds) {
  Vector sum[kOperations];
#pragma GCC unroll 12
  for (Vector& s : sum) s = _mm256_set1_ps(1.0f);
  Vector w = _mm256_set1_ps(0.5f);
  for (std::int64_t k = 0; k < rounds; ++k) {
    asm volatile("" : "+x"(w));
#pragma GCC unroll 12
    for (Vector& s : sum) s = _mm256_fmadd_ps(s, w, w);
  }
#pragma GCC unroll 12
  for (Vector& s : sum) asm volatile("" : : "x"(s));
}

void load(std::int64_t rounds) {
  alignas(64) float memory[kOperations * 8] = {};
  for (std::int64_t k = 0; k < rounds; ++k) {
    asm volatile("" : : "r"(memory) : "memory");
#pragma GCC unroll 12
    for (int i = 0; i < kOperations; ++i) {
      Vector value = _mm256_load_ps(memory + i * 8);
      asm volatile("" : "+x"(value));
    }
  }
}

template <bool kAdd>
void head(std::int64_t rounds) {
  constexpr int kChains = 6;
  Vector sum[kChains];
#pragma GCC unroll 6
  for (Vector& s : sum) s = _mm256_setzero_ps();
  Vector x = _mm256_set1_ps(0.5f);
  Vector a = _mm256_set1_ps(0.25f);
  Vector w = _mm256_set1_ps(0.125f);
  for (std::int64_t k = 0; k < rounds * (kOperations / kChains); ++k) {
#pragma GCC unroll 6
    for (Vector& s : sum) {
      asm volatile("" : "+x"(x));
      const Vector value =
          kAdd ? _mm256_max_ps(_mm256_add_ps(x, a), _mm256_setzero_ps()) : _mm256_max_ps(x, a);
      s = _mm256_fmadd_ps(value, w, s);
    }
  }
#pragma GCC unroll 6
  for (Vector& s : sum) asm volatile("" : : "x"(s));
}

}  // namespace

const RooflineLoops kAvx2Loops{8, fma, load, head<false>, head<true>};

}  // namespace neuroshard::bench
