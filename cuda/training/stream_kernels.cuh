#pragma once

// The kernels that make the lookups of tables.

#include <cstdint>

#include "engine/core/scatter.h"

namespace neuroshard::cuda {

inline constexpr int kStreamThreads = 256;

__device__ __forceinline__ std::int64_t stream_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * kStreamThreads + threadIdx.x;
}

/// One thread per lookup: `starts` [distinct] says which distinct row it is of.
__global__ void expand_kernel(const std::uint32_t* __restrict__ starts, std::int64_t distinct,
                              std::int64_t lookups, Scatter row_of, Scatter place_of,
                              std::int32_t* __restrict__ indices) {
  const std::int64_t i = stream_thread();
  if (i >= lookups) return;
  std::int64_t low = 0;  // the last distinct row that starts at or before i
  std::int64_t high = distinct - 1;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (starts[middle] <= i) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  indices[place_of(static_cast<std::uint64_t>(i))] =
      static_cast<std::int32_t>(row_of(static_cast<std::uint64_t>(low)));
}

/// Rows [begin, end) of a table.
struct RowRange {
  std::int32_t begin;
  std::int32_t end;
  [[nodiscard]] __host__ __device__ bool has(std::int32_t row) const {
    return row >= begin && row < end;
  }
};

/// One thread per bag: how many of its lookups are in the range, and 0 behind the last bag.
__global__ void count_in_range_kernel(const std::int32_t* __restrict__ indices,
                                      const std::int64_t* __restrict__ offsets, std::int64_t bags,
                                      RowRange range, std::int64_t* __restrict__ counts) {
  const std::int64_t bag = stream_thread();
  if (bag > bags) return;
  std::int64_t count = 0;
  const std::int64_t end = bag < bags ? offsets[bag + 1] : 0;
  for (std::int64_t i = offsets[bag]; i < end; ++i) count += range.has(indices[i]) ? 1 : 0;
  counts[bag] = count;
}

/// One thread per bag: its lookups in the range, renumbered from 0, to part_offsets[bag] and
/// behind.
__global__ void keep_range_kernel(const std::int32_t* __restrict__ indices,
                                  const std::int64_t* __restrict__ offsets, std::int64_t bags,
                                  RowRange range, const std::int64_t* __restrict__ part_offsets,
                                  std::int32_t* __restrict__ part) {
  const std::int64_t bag = stream_thread();
  if (bag >= bags) return;
  std::int64_t to = part_offsets[bag];
  for (std::int64_t i = offsets[bag]; i < offsets[bag + 1]; ++i) {
    if (range.has(indices[i])) part[to++] = indices[i] - range.begin;
  }
}

}  // namespace neuroshard::cuda
