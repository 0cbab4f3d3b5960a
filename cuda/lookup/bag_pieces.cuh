#pragma once

// Kernels that prepare the backward pass: what is sorted, and how the sorted lookups are cut into
// pieces and dealt out to warps.

#include <algorithm>

#include "cuda/lookup/bag_lanes.h"

namespace neuroshard::cuda {

/// blockIdx.y is the table, a block takes kBlockThreads bags at a time: their lookups lie side by
/// side, so that indices, keys and values move whole cache lines.
template <typename Key, typename Lookup>
__global__ void __launch_bounds__(kBlockThreads)
    key_kernel(const UpdateTable* __restrict__ tables, std::int64_t bags, Key* __restrict__ keys,
               Lookup* __restrict__ lookups) {
  __shared__ std::int64_t ends[kBlockThreads];
  const UpdateTable table = tables[blockIdx.y];
  const std::int64_t first_bag = static_cast<std::int64_t>(blockIdx.y) * bags;
  for (std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kBlockThreads; begin < bags;
       begin += static_cast<std::int64_t>(gridDim.x) * kBlockThreads) {
    const auto here = static_cast<int>(std::min<std::int64_t>(bags - begin, kBlockThreads));
    __syncthreads();  // the last round's readers are done
    if (static_cast<int>(threadIdx.x) < here) {
      ends[threadIdx.x] = table.offsets[begin + threadIdx.x + 1];
    }
    __syncthreads();
    for (std::int64_t i = table.offsets[begin] + threadIdx.x; i < ends[here - 1];
         i += kBlockThreads) {
      int low = 0;  // the first bag that ends behind i
      int high = here - 1;
      while (low < high) {
        const int middle = (low + high) / 2;
        if (ends[middle] > i) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      describe_lookup(table, first_bag, begin + low, i, keys, lookups);
    }
  }
}

/// For cub::DeviceSelect: keeps the sorted lookups where a piece begins.
template <typename Key>
struct PieceBegins {
  const Key* keys;
  __device__ bool operator()(std::uint32_t i) const { return piece_begins(keys, i); }
};

/// Groups of lanes that one warp has for a table.
__device__ __forceinline__ int groups_per_warp(const UpdateTable& table) {
  return kWarpLanes >> table.lane_bits;
}

/// Which pieces and which warps each table has: first_piece and first_unit, tables + 1 values each.
/// A unit is what a warp does at once: a piece per group of lanes, all of one table. One block.
__global__ void __launch_bounds__(kBlockThreads)
    unit_kernel(const UpdateTable* __restrict__ tables, int count, std::int64_t lookups,
                const std::uint32_t* __restrict__ piece_begin,
                const std::uint32_t* __restrict__ pieces, std::int64_t* first_piece,
                std::int64_t* first_unit) {
  for (int t = static_cast<int>(threadIdx.x); t <= count; t += kBlockThreads) {
    const std::int64_t begin = t < count ? tables[t].first_lookup : lookups;
    std::int64_t low = 0;  // the first piece that begins at or behind the table
    std::int64_t high = *pieces;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (piece_begin[middle] < begin) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    first_piece[t] = low;
  }
  __syncthreads();
  __shared__ std::int64_t sums[kBlockThreads];
  std::int64_t before = 0;  // units of the tables of earlier rounds
  for (int round = 0; round <= count; round += kBlockThreads) {
    const int t = round + static_cast<int>(threadIdx.x);
    std::int64_t units = 0;
    if (t < count) {
      const int groups = groups_per_warp(tables[t]);
      units = (first_piece[t + 1] - first_piece[t] + groups - 1) / groups;
    }
    sums[threadIdx.x] = units;
    for (int step = 1; step < kBlockThreads; step *= 2) {  // inclusive sums over the block
      __syncthreads();
      const std::int64_t add = static_cast<int>(threadIdx.x) >= step ? sums[threadIdx.x - step] : 0;
      __syncthreads();
      sums[threadIdx.x] += add;
    }
    __syncthreads();
    if (t <= count) first_unit[t] = before + sums[threadIdx.x] - units;
    before += sums[kBlockThreads - 1];
    __syncthreads();
  }
}

}  // namespace neuroshard::cuda
