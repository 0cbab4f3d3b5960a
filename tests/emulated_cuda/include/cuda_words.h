#pragma once

// The words of CUDA that kernels use, for the host compiler.

#include <cmath>
#include <cstdint>

#include "cuda_fp16.h"
#include "tests/emulated_cuda/blocks.h"
#include "tests/emulated_cuda/races.h"

#define NEUROSHARD_EMULATED_GPU
#define __global__ [[maybe_unused]] static  // the real ones have symbols of the same names
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static  // one block runs at a time

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// Set for the running thread.
inline const dim3& threadIdx = neuroshard::emulation::place.thread;
inline const dim3& blockIdx = neuroshard::emulation::place.block;
inline const dim3& blockDim = neuroshard::emulation::place.threads;
inline const dim3& gridDim = neuroshard::emulation::place.blocks;

inline void __syncthreads() { neuroshard::emulation::block_barrier(); }
inline void __syncwarp(unsigned mask = 0xffffffffU) { neuroshard::emulation::warp_barrier(mask); }
template <typename Value>
Value __shfl_sync(unsigned mask, Value value, int from) {
  return neuroshard::emulation::shuffle_value(mask, value, static_cast<unsigned>(from));
}
template <typename Value>
Value __shfl_xor_sync(unsigned mask, Value value, int bits) {
  return neuroshard::emulation::shuffle_value(
      mask, value, neuroshard::emulation::lane() ^ static_cast<unsigned>(bits));
}
inline void __nanosleep(unsigned) {}
