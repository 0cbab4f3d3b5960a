#include "io/sha256_blocks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace neuroshard::io {

#if defined(__x86_64__)

namespace {

#define NEUROSHARD_SHA __attribute__((target("sha,sse4.1")))

/// Four words of a block, which are big-endian.
NEUROSHARD_SHA __m128i load_words(const char* bytes) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)), swap);
}

/// Words t + 16 to t + 19 of the schedule from words t to t + 15.
NEUROSHARD_SHA __m128i next_words(__m128i w0, __m128i w4, __m128i w8, __m128i w12) {
  const __m128i sums = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w4), _mm_alignr_epi8(w12, w8, 4));
  return _mm_sha256msg2_epu32(sums, w12);
}

/// The instructions keep the state as two halves, of a, b, e, f and of c, d, g, h, the first letter
/// in the highest lane.
NEUROSHARD_SHA void add_blocks(Sha256State& state, const char* bytes, std::size_t blocks) {
  auto* const words = reinterpret_cast<__m128i*>(state.data());
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xF0);
  const auto* const rounds = reinterpret_cast<const __m128i*>(kSha256Round.data());
  for (; blocks > 0; --blocks, bytes += kSha256Block) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[] = {load_words(bytes), load_words(bytes + 16), load_words(bytes + 32),
                   load_words(bytes + 48)};
    for (int four = 0; four < 16; ++four) {
      const __m128i sums = _mm_add_epi32(w[four % 4], _mm_loadu_si128(rounds + four));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sums);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sums, 0x0E));
      w[four % 4] = next_words(w[four % 4], w[(four + 1) % 4], w[(four + 2) % 4],
                               w[(four + 3) % 4]);  // four groups of these are not needed
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#undef NEUROSHARD_SHA

bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool sse41 = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_1) != 0;
  return sse41 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

}  // namespace

Sha256Blocks* sha256_blocks_x86() { return has_sha_instructions() ? add_blocks : nullptr; }

#else

Sha256Blocks* sha256_blocks_x86() { return nullptr; }

#endif

}  // namespace neuroshard::io
