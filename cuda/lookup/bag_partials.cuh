#pragma once

// The kernel that finishes rows whose lookups cross the cuts between pieces.

#include "cuda/lookup/bag_update.cuh"

namespace neuroshard::cuda {

inline constexpr int kCombineWarps = 16;
/// Partial sums that a warp adds up by itself; longer runs take the whole block.
inline constexpr std::int64_t kWarpPartials = 16;

/// Adds up a row's partial sums and updates it; column by column, one warp.
template <typename Weights>
__device__ void finish_row(const UpdateTable& table, std::int64_t row, const PartialRun& run,
                           const BagUpdate& update, const float* partials,
                           std::int64_t partial_stride, int lane) {
  const auto add_up = [&](int column) {
    float sum = 0;
    for (std::int64_t k = 0; k < run.count; ++k) {
      sum += partials[run.place(k) * partial_stride + column];
    }
    return sum;
  };
  float step = update.learning_rate;
  if (table.state != nullptr) {
    float squares = 0;
    for (int column = lane; column < table.dim; column += kWarpLanes) {
      const float sum = add_up(column);
      squares += sum * sum;
    }
    squares = group_sum(squares, 5);
    const float state = table.state[row] + squares / static_cast<float>(table.dim);
    __syncwarp();
    if (lane == 0) table.state[row] = state;
    step = adagrad_step(state, update);
  }
  char* weights = table.weights + row * table.row_bytes;
  for (int column = lane; column < table.dim; column += kWarpLanes) {
    const float sum = add_up(column);
    char* const at = weights + column * Weights::kElementBytes;
    Weights::update(at, Weights::fetch(at), &sum, step);
  }
}

/// Adds a row's partial sums into the first of them: warp w takes every kCombineWarps-th from w on,
/// then the warps' sums are added in their order. Called by the whole block.
__device__ inline void add_partials(const PartialRun& run, int dim, float* partials,
                                    std::int64_t partial_stride, float4 (*shared)[kWarpLanes]) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const auto add = [](float4& sum, const float4& value) {
    sum.x += value.x;
    sum.y += value.y;
    sum.z += value.z;
    sum.w += value.w;
  };
  for (int first = 0; first < dim; first += 4 * kWarpLanes) {
    const int column = first + 4 * lane;
    float4 sum = make_float4(0, 0, 0, 0);
    if (column < dim) {
#if defined(__CUDACC__)
#pragma unroll 8
#endif
      for (std::int64_t k = warp; k < run.count; k += kCombineWarps) {
        const float* partial = partials + run.place(k) * partial_stride + column;
        add(sum, *reinterpret_cast<const float4*>(partial));
      }
    }
    shared[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && column < dim) {
      for (int w = 1; w < kCombineWarps; ++w) add(sum, shared[w][lane]);
      *reinterpret_cast<float4*>(partials + run.first * partial_stride + column) = sum;
    }
    __syncthreads();
  }
}

template <typename Lookup>
__device__ void finish_run(const UpdateTable* tables, const Lookup* lookups, std::int64_t bags,
                           std::int64_t key, const PartialRun& run, const BagUpdate& update,
                           const float* partials, std::int64_t partial_stride, int lane) {
  const UpdateTable table = tables[bag_of(lookups[run.cut * kPieceLookups]) / bags];
  const std::int64_t row = key - table.first_row;
  if (table.access == Access::kFp32x4 || table.access == Access::kFp32x1) {
    finish_row<Fp32Access<1>>(table, row, run, update, partials, partial_stride, lane);
  } else {
    finish_row<Fp16Access<1>>(table, row, run, update, partials, partial_stride, lane);
  }
}

/// A warp per cut between pieces: it finishes the row that crosses it first there. Rows with many
/// partial sums are finished by the whole block, one after the other.
template <typename Key, typename Lookup>
__global__ void __launch_bounds__(kCombineWarps* kWarpLanes)
    combine_kernel(const UpdateTable* __restrict__ tables, const Key* __restrict__ keys,
                   const Lookup* __restrict__ lookups, std::int64_t count, std::int64_t bags,
                   BagUpdate update, float* __restrict__ partials, std::int64_t partial_stride) {
  __shared__ PartialRun runs[kCombineWarps];
  __shared__ float4 shared[kCombineWarps][kWarpLanes];
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const std::int64_t last_cut = (count - 1) / kPieceLookups;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kCombineWarps;
  for (std::int64_t first = 1 + static_cast<std::int64_t>(blockIdx.x) * kCombineWarps;
       first <= last_cut; first += step) {
    PartialRun run{0, 0, 0};
    if (first + warp <= last_cut) run = partial_run(keys, first + warp, count);
    if (lane == 0) runs[warp] = run;
    if (run.count > 0 && run.count <= kWarpPartials) {
      finish_run(tables, lookups, bags, static_cast<std::int64_t>(keys[run.cut * kPieceLookups]),
                 run, update, partials, partial_stride, lane);
    }
    __syncthreads();
    for (int w = 0; w < kCombineWarps; ++w) {
      PartialRun shared_run = runs[w];
      if (shared_run.count <= kWarpPartials) continue;  // the same for the whole block
      const std::int64_t at = shared_run.cut * kPieceLookups;
      const int dim = tables[bag_of(lookups[at]) / bags].dim;
      add_partials(shared_run, dim, partials, partial_stride, shared);
      shared_run.count = 1;
      if (warp == 0) {
        finish_run(tables, lookups, bags, static_cast<std::int64_t>(keys[at]), shared_run, update,
                   partials, partial_stride, lane);
      }
    }
    __syncthreads();  // runs is written again
  }
}

}  // namespace neuroshard::cuda
