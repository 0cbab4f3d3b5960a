#pragma once

// The forward kernel of the embedding bag: who works on what. What a lane does with it is
// bag_lanes.h.

#include <algorithm>

#include "cuda/lookup/bag_lanes.h"

namespace neuroshard::cuda {

template <typename Weights>
__device__ __forceinline__ void pool_slice(const Slice& slice, std::int64_t first,
                                           std::int64_t last, int lane, float* out,
                                           std::int64_t stride) {
  if (slice.sample_weights != nullptr || slice.mean != 0) {
    pool_bags<Weights, true>(slice, first, last, lane, out, stride);
  } else {
    pool_bags<Weights, false>(slice, first, last, lane, out, stride);
  }
}

/// One block per tile: some bags of one slice, a group of lanes for bags_per_group of them. Three
/// blocks a multiprocessor: with four, registers spill.
__global__ void __launch_bounds__(kBlockThreads, 3)
    pool_kernel(const Slice* __restrict__ slices, const std::int32_t* __restrict__ slice_of_tile,
                std::int64_t bags, float* __restrict__ out, std::int64_t stride) {
  const Slice slice = slices[slice_of_tile[blockIdx.x]];
  const int group = static_cast<int>(threadIdx.x) >> slice.lane_bits;
  const int lane = static_cast<int>(threadIdx.x) & ((1 << slice.lane_bits) - 1);
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) - slice.first_tile;
  const std::int64_t number = tile * (kBlockThreads >> slice.lane_bits) + group;
  const std::int64_t first = number * slice.bags_per_group;
  if (first >= bags) return;
  const std::int64_t last = std::min<std::int64_t>(first + slice.bags_per_group, bags);
  switch (slice.access) {
    case Access::kFp32x4:
      return pool_slice<Fp32Access<4>>(slice, first, last, lane, out, stride);
    case Access::kFp32x1:
      return pool_slice<Fp32Access<1>>(slice, first, last, lane, out, stride);
    case Access::kFp16x8:
      return pool_slice<Fp16Access<8>>(slice, first, last, lane, out, stride);
    case Access::kFp16x4:
      return pool_slice<Fp16Access<4>>(slice, first, last, lane, out, stride);
    case Access::kFp16x1:
      return pool_slice<Fp16Access<1>>(slice, first, last, lane, out, stride);
  }
}

}  // namespace neuroshard::cuda
