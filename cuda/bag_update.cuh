#pragma once

// The kernel that adds up gradients piece by piece and updates the rows that lie in one piece.

#include "cuda/bag_pieces.cuh"

namespace neuroshard::cuda {

struct BagUpdate {
  float learning_rate;
  float epsilon;
};

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

}  // namespace neuroshard::cuda
