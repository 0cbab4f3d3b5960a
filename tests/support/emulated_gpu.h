#pragma once

// The words of CUDA that the kernels of cuda/*.cuh use, for the host compiler: a thread of a block
// is a thread of this process, blocks run one after the other, and what is shared by a block is
// static. Include before any of those files. Slow, and nothing of the hardware is in it; but who
// works on what, barriers, shuffles and the arithmetic are the kernels' own.

#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#define NEUROSHARD_EMULATED_GPU
#define __global__ [[maybe_unused]] static  // the real ones have symbols of the same names
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

inline thread_local dim3 threadIdx;
inline thread_local dim3 blockIdx;
inline dim3 blockDim;
inline dim3 gridDim;

namespace neuroshard::emulation {

/// The block that runs now; null between launches and where no barriers are wanted.
struct Block {
  struct Warp {
    explicit Warp(std::ptrdiff_t lanes) : barrier(lanes) {}
    std::barrier<> barrier;
    float values[32] = {};
  };
  explicit Block(unsigned threads) : barrier(threads) {
    for (unsigned first = 0; first < threads; first += 32) {
      warps.push_back(std::make_unique<Warp>(std::min(32U, threads - first)));
    }
  }
  std::barrier<> barrier;
  std::vector<std::unique_ptr<Warp>> warps;
};
inline Block* block = nullptr;

inline unsigned thread_in_block() { return threadIdx.y * blockDim.x + threadIdx.x; }
inline Block::Warp& warp() { return *block->warps[thread_in_block() / 32]; }

/// Runs `kernel` for every thread of every block. Without barriers threads take turns.
inline void launch(dim3 grid, dim3 threads, bool barriers, const std::function<void()>& kernel) {
  gridDim = grid;
  blockDim = threads;
  const unsigned count = threads.x * threads.y;
  for (unsigned b = 0; b < grid.x * grid.y; ++b) {
    const auto body = [&, b](unsigned t) {
      blockIdx = {b % grid.x, b / grid.x, 0};
      threadIdx = {t % threads.x, t / threads.x, 0};
      kernel();
    };
    if (!barriers) {
      for (unsigned t = 0; t < count; ++t) body(t);
      continue;
    }
    Block here(count);
    block = &here;
    std::vector<std::thread> running;
    for (unsigned t = 0; t < count; ++t) {
      running.emplace_back([&, t] {
        body(t);
        warp().barrier.arrive_and_drop();  // who has returned is not waited for
        here.barrier.arrive_and_drop();
      });
    }
    for (std::thread& thread : running) thread.join();
    block = nullptr;
  }
}

}  // namespace neuroshard::emulation

inline void __syncthreads() { neuroshard::emulation::block->barrier.arrive_and_wait(); }
inline void __syncwarp() { neuroshard::emulation::warp().barrier.arrive_and_wait(); }
template <typename Value>
Value __shfl_sync(unsigned, Value value, int from) {
  static_assert(sizeof value == 4);
  auto& warp = neuroshard::emulation::warp();
  std::memcpy(&warp.values[neuroshard::emulation::thread_in_block() % 32], &value, 4);
  warp.barrier.arrive_and_wait();
  std::memcpy(&value, &warp.values[from], 4);
  warp.barrier.arrive_and_wait();
  return value;
}
inline float __shfl_xor_sync(unsigned mask, float value, int bits) {
  const unsigned lane = neuroshard::emulation::thread_in_block() % 32;
  return __shfl_sync(mask, value, static_cast<int>(lane ^ static_cast<unsigned>(bits)));
}

// fp16 as cuda_fp16.h has it, numbers only.
struct __half_raw {
  unsigned short x;
};
struct __half {
  __half() = default;
  explicit __half(__half_raw raw) : bits(raw.x) {}
  operator __half_raw() const { return {bits}; }
  unsigned short bits;
};
inline float __half2float(__half half) {
  const int exponent = half.bits >> 10 & 31;
  const int fraction = half.bits & 1023;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                   : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (half.bits & 0x8000) != 0 ? -size : size;
}
inline __half __float2half_rn(float value) {
  const bool negative = std::signbit(value);
  const float size = std::fabs(value);
  // Units of the last place of the half: 2^-24 below 2^-14, then 2^10 of them to a binade.
  const int exponent = size < 0x1p-14F ? -14 : std::ilogb(size);
  const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  const unsigned bits = static_cast<unsigned>(exponent + 14) * 1024U + units;
  return __half(__half_raw{static_cast<unsigned short>(bits | (negative ? 0x8000U : 0U))});
}
