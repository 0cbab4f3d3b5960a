#pragma once

// How a lane of the embedding-bag kernels loads and stores: the instructions on a GPU, plain copies
// where the host compiler builds the same functions. NEUROSHARD_EMULATED_GPU: a header of
// tests/emulated_cuda has defined what CUDA's would.

#include <cstdint>
#include <cstring>

#include "cuda/unroll.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#define NEUROSHARD_LANE __host__ __device__ __forceinline__
#else
#define NEUROSHARD_LANE inline
#endif
#if defined(NEUROSHARD_EMULATED_GPU)
#define NEUROSHARD_EMULATED(access) neuroshard::emulation::access
#else
#define NEUROSHARD_EMULATED(access) static_cast<void>(0)
#endif

namespace neuroshard::cuda {

template <int kWords>
struct Words {
  std::uint32_t word[kWords];
};

/// Reads memory that this launch does not write, past the L1 cache: rows come once. Indices and
/// offsets are left the L1.
template <int kWords>
NEUROSHARD_LANE Words<kWords> load_once(const void* from) {
  Words<kWords> words;
#if defined(__CUDA_ARCH__)
  std::uint32_t* w = words.word;
  if constexpr (kWords == 4) {
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
        : "l"(from));
  } else if constexpr (kWords == 2) {
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(from));
  } else {
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(w[0]) : "l"(from));
  }
#else
  NEUROSHARD_EMULATED(device_load(from, sizeof words, true));
  std::memcpy(&words, from, sizeof words);
#endif
  return words;
}

/// Reads a value that this launch does not write and that lanes beside this one read, too.
template <typename Value>
NEUROSHARD_LANE Value load_shared(const Value* from) {
#if defined(__CUDA_ARCH__)
  return __ldg(from);
#else
  NEUROSHARD_EMULATED(device_load(from, sizeof *from, true));
  return *from;
#endif
}

/// Reads memory that this launch writes, in one access, and writes it. Words, not structures of the
/// weights' type: those would lie in local memory on their way. The instructions of global memory
/// written out: through a pointer that may point anywhere, update_kernel's registers spill.
template <int kWords>
NEUROSHARD_LANE Words<kWords> load_words(const void* from) {
  Words<kWords> words;
#if defined(__CUDA_ARCH__)
  std::uint32_t* w = words.word;
  if constexpr (kWords == 4) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "l"(from)
                 : "memory");
  } else if constexpr (kWords == 2) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(w[0]), "=r"(w[1])
                 : "l"(from)
                 : "memory");
  } else {
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(w[0]) : "l"(from) : "memory");
  }
#else
  NEUROSHARD_EMULATED(device_load(from, sizeof words, false));
  std::memcpy(&words, from, sizeof words);
#endif
  return words;
}
template <int kWords>
NEUROSHARD_LANE void store_words(void* to, const Words<kWords>& words) {
#if defined(__CUDA_ARCH__)
  const std::uint32_t* w = words.word;
  if constexpr (kWords == 4) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                 : "memory");
  } else if constexpr (kWords == 2) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" : : "l"(to), "r"(w[0]), "r"(w[1]) : "memory");
  } else {
    asm volatile("st.global.u32 [%0], %1;" : : "l"(to), "r"(w[0]) : "memory");
  }
#else
  NEUROSHARD_EMULATED(device_store(to, sizeof words));
  std::memcpy(to, &words, sizeof words);
#endif
}

NEUROSHARD_LANE float float_of(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

NEUROSHARD_LANE std::uint32_t bits_of(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
#endif
}

/// a + b * scale, rounded once.
NEUROSHARD_LANE float add_scaled(float a, float b, float scale) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(b, scale, a);
#else
  return __builtin_fmaf(b, scale, a);
#endif
}

/// Writes results that nobody reads soon: whole sectors leave the caches first. Narrower ones stay
/// until their neighbours' columns have made a sector of them.
template <int kFloats>
NEUROSHARD_LANE void store_pooled(float* to, const float* values, bool whole_sectors) {
#if defined(__CUDA_ARCH__)
  if constexpr (kFloats >= 4) {
    NEUROSHARD_UNROLL
    for (int k = 0; k < kFloats; k += 4) {
      // Two instructions on one address: written out, they take registers for two.
      asm volatile(
          "{.reg .pred whole; setp.ne.s32 whole, %5, 0;\n\t"
          "@whole st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};\n\t"
          "@!whole st.global.v4.f32 [%0], {%1, %2, %3, %4};}"
          :
          : "l"(to + k), "f"(values[k]), "f"(values[k + 1]), "f"(values[k + 2]), "f"(values[k + 3]),
            "r"(whole_sectors ? 1 : 0)
          : "memory");
    }
  } else {
    for (int k = 0; k < kFloats; ++k) to[k] = values[k];
  }
#else
  static_cast<void>(whole_sectors);
  constexpr int kAtOnce = kFloats >= 4 ? 4 : 1;
  for (int k = 0; k < kFloats; k += kAtOnce) {
    NEUROSHARD_EMULATED(device_store(to + k, kAtOnce * sizeof(float)));
    std::memcpy(to + k, values + k, kAtOnce * sizeof(float));
  }
#endif
}

/// kWidth fp32 gradients or sums of one lane.
template <int kWidth>
struct Columns {
  float value[kWidth];
};

template <int kWidth>
NEUROSHARD_LANE Columns<kWidth> load_columns(const float* from) {
  Columns<kWidth> columns;
  if constexpr (kWidth >= 4) {
    for (int k = 0; k < kWidth; k += 4) {
      const Words<4> words = load_once<4>(from + k);
      for (int j = 0; j < 4; ++j) columns.value[k + j] = float_of(words.word[j]);
    }
  } else {
    for (int k = 0; k < kWidth; ++k) columns.value[k] = float_of(load_once<1>(from + k).word[0]);
  }
  return columns;
}

// How weights of one lane travel: Raw while on their way, floats in sums.
template <int kFloats>
struct Fp32Access {
  static constexpr int kWidth = kFloats;
  static constexpr std::int64_t kElementBytes = 4;
  using Raw = Words<kFloats>;
  static NEUROSHARD_LANE Raw load(const char* from) { return load_once<kFloats>(from); }
  static NEUROSHARD_LANE float value(const Raw& raw, int k) { return float_of(raw.word[k]); }
  static NEUROSHARD_LANE Raw fetch(const char* at) { return load_words<kFloats>(at); }
  /// weight -= step * sum, product and difference rounded as on the CPU. `weights` are what fetch()
  /// has found there.
  static NEUROSHARD_LANE void update(char* at, Raw weights, const float* sum, float step) {
    NEUROSHARD_UNROLL
    for (int k = 0; k < kFloats; ++k) {
      weights.word[k] = bits_of(float_of(weights.word[k]) - step * sum[k]);
    }
    store_words(at, weights);
  }
};

#if defined(__CUDACC__) || defined(NEUROSHARD_EMULATED_GPU)
template <int kHalves>
struct Fp16Access {
  static constexpr int kWidth = kHalves;
  static constexpr std::int64_t kElementBytes = 2;
  using Raw = Words<(kHalves + 1) / 2>;
  static NEUROSHARD_LANE Raw load(const char* from) {
    if constexpr (kHalves == 1) {
      return fetch(from);
    } else {
      return load_once<kHalves / 2>(from);
    }
  }
  static NEUROSHARD_LANE float value(const Raw& raw, int k) {
    __half_raw half;
    half.x = static_cast<unsigned short>(raw.word[k / 2] >> (k % 2 * 16));
    return __half2float(__half(half));
  }
  static NEUROSHARD_LANE Raw fetch(const char* at) {
    if constexpr (kHalves == 1) {
      return {{*reinterpret_cast<const std::uint16_t*>(at)}};
    } else {
      return load_words<kHalves / 2>(at);
    }
  }
  static NEUROSHARD_LANE void update(char* at, const Raw& weights, const float* sum, float step) {
    Raw updated{};
    NEUROSHARD_UNROLL
    for (int k = 0; k < kHalves; ++k) {
      const __half_raw half = __float2half_rn(value(weights, k) - step * sum[k]);
      updated.word[k / 2] |= std::uint32_t{half.x} << (k % 2 * 16);
    }
    if constexpr (kHalves == 1) {
      *reinterpret_cast<std::uint16_t*>(at) = static_cast<std::uint16_t>(updated.word[0]);
    } else {
      store_words(at, updated);
    }
  }
};
#endif

}  // namespace neuroshard::cuda
