#pragma once

// The kernels of the embedding bag: who works on what. What a lane does with it is bag_lanes.h.

#include "cuda/bag_lanes.h"

namespace neuroshard::cuda {

__device__ __forceinline__ std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

struct BagUpdate {
  float learning_rate;
  float epsilon;
};

// ---------------------------------------------------------------------------------------- forward

template <typename Weights>
__device__ __forceinline__ void pool_slice(const Slice& slice, std::int64_t first,
                                           std::int64_t last, int lane, float* out,
                                           std::int64_t stride) {
  if (slice.sample_weights != nullptr) {
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
  const std::int64_t last = smaller(first + slice.bags_per_group, bags);
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

// --------------------------------------------------------------------------------- keys and pieces

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
    const auto here = static_cast<int>(smaller(bags - begin, kBlockThreads));
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

// ----------------------------------------------------------------------------------------- update

/// Sum over the lanes of each group of 2^lane_bits, in a fixed order, the same for all of them.
__device__ __forceinline__ float group_sum(float value, int lane_bits) {
  for (int bit = 0; bit < lane_bits; ++bit) {
    value += __shfl_xor_sync(0xffffffffU, value, 1 << bit);
  }
  return value;
}

/// Row-wise Adagrad's step of a row whose state is now `state`.
__device__ __forceinline__ float adagrad_step(float state, const BagUpdate& update) {
  return update.learning_rate / (sqrtf(state) + update.epsilon);
}

/// The piece of one group of lanes: sorted lookups [begin, end) of one row; none when row < 0.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t row = -1;
  std::int64_t place = -1;  ///< of a partial sum
};

struct Gradients {
  const float* values;
  std::int64_t stride;
  std::int64_t first_bag;  ///< of the table among the bags of all
};

/// Adds up the gradients of a piece and updates its row, or leaves a partial sum. Called by whole
/// warps with pieces of one table.
template <typename Weights, typename Lookup>
__device__ __forceinline__ void update_piece(const UpdateTable& table, const Piece& piece,
                                             const Lookup* lookups, const Gradients& gradients,
                                             int lane, const BagUpdate& update, float* partials,
                                             std::int64_t partial_stride) {
  constexpr int kWidth = Weights::kWidth;
  const int step_columns = kWidth << table.lane_bits;
  const bool adagrad = table.state != nullptr;
  const bool direct = piece.row >= 0 && piece.place < 0;
  char* row = table.weights + piece.row * table.row_bytes;
  const auto add_up = [&](int column, float* sum) {
    sum_gradients<kWidth>(lookups, piece.begin, piece.end, gradients.values + table.column + column,
                          gradients.stride, gradients.first_bag, sum);
  };
  float sum[kWidth] = {};
  float squares = 0;
  for (int column = lane * kWidth; piece.row >= 0 && column < table.dim; column += step_columns) {
    add_up(column, sum);
    if (!direct) {
      for (int k = 0; k < kWidth; ++k) partials[piece.place * partial_stride + column + k] = sum[k];
    } else if (adagrad) {
      for (int k = 0; k < kWidth; ++k) squares += sum[k] * sum[k];
    } else {
      Weights::update(row + column * Weights::kElementBytes, sum, update.learning_rate);
    }
  }
  if (!adagrad) return;  // the same for the whole warp: a unit is of one table
  squares = group_sum(squares, table.lane_bits);
  float state = 0;
  if (direct) state = table.state[piece.row] + squares / static_cast<float>(table.dim);
  __syncwarp();  // everyone has read the state before one lane writes it
  if (!direct) return;
  if (lane == 0) table.state[piece.row] = state;
  const float step = adagrad_step(state, update);
  for (int column = lane * kWidth; column < table.dim; column += step_columns) {
    if (table.dim > step_columns) add_up(column, sum);  // else it is still there
    Weights::update(row + column * Weights::kElementBytes, sum, step);
  }
}

/// The sorted lookups, cut into pieces.
template <typename Key, typename Lookup>
struct SortedLookups {
  const Key* keys;
  const Lookup* lookups;
  std::int64_t count;
  const std::uint32_t* piece_begin;
  const std::uint32_t* pieces;
  const std::int64_t* first_piece;
  const std::int64_t* first_unit;
};

/// Warps take units in turn until there are none left.
template <typename Key, typename Lookup>
__global__ void __launch_bounds__(kBlockThreads, 4)
    update_kernel(const UpdateTable* __restrict__ tables, int count,
                  SortedLookups<Key, Lookup> sorted, std::int64_t bags,
                  const float* __restrict__ gradient, std::int64_t stride, BagUpdate update,
                  float* __restrict__ partials, std::int64_t partial_stride) {
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (kBlockThreads / kWarpLanes);
  const int warp_lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const std::int64_t units = sorted.first_unit[count];
  const std::int64_t pieces = *sorted.pieces;
  for (std::int64_t unit =
           (static_cast<std::int64_t>(blockIdx.x) * kBlockThreads + threadIdx.x) / kWarpLanes;
       unit < units; unit += warps) {
    int t = 0;  // the last table that begins at or before the unit and has units
    for (int high = count - 1; t < high;) {
      const int middle = (t + high + 1) / 2;
      if (sorted.first_unit[middle] <= unit) {
        t = middle;
      } else {
        high = middle - 1;
      }
    }
    const UpdateTable table = tables[t];
    const int lane = warp_lane & ((1 << table.lane_bits) - 1);
    const std::int64_t number = sorted.first_piece[t] +
                                (unit - sorted.first_unit[t]) * groups_per_warp(table) +
                                (warp_lane >> table.lane_bits);
    Piece piece;
    if (number < sorted.first_piece[t + 1]) {
      piece.begin = sorted.piece_begin[number];
      piece.end = number + 1 < pieces ? sorted.piece_begin[number + 1] : sorted.count;
      piece.row = static_cast<std::int64_t>(sorted.keys[piece.begin]) - table.first_row;
      piece.place = partial_place(sorted.keys, piece.begin, piece.end, sorted.count);
    }
    const Gradients gradients{gradient, stride, t * bags};
    switch (table.access) {
      case Access::kFp32x4:
        update_piece<Fp32Access<4>>(table, piece, sorted.lookups, gradients, lane, update, partials,
                                    partial_stride);
        break;
      case Access::kFp32x1:
        update_piece<Fp32Access<1>>(table, piece, sorted.lookups, gradients, lane, update, partials,
                                    partial_stride);
        break;
      case Access::kFp16x8:
        update_piece<Fp16Access<8>>(table, piece, sorted.lookups, gradients, lane, update, partials,
                                    partial_stride);
        break;
      case Access::kFp16x4:
        update_piece<Fp16Access<4>>(table, piece, sorted.lookups, gradients, lane, update, partials,
                                    partial_stride);
        break;
      case Access::kFp16x1:
        update_piece<Fp16Access<1>>(table, piece, sorted.lookups, gradients, lane, update, partials,
                                    partial_stride);
        break;
    }
  }
}

// ------------------------------------------------------------------------------------ partial sums

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
    Weights::update(weights + column * Weights::kElementBytes, &sum, step);
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
#pragma unroll 8
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
