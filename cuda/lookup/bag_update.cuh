#pragma once

// The kernel that adds up gradients piece by piece and updates the rows that lie in one piece.

#include "cuda/lookup/bag_units.cuh"

namespace neuroshard::cuda {

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

/// Blocks of update_kernel on a multiprocessor: on sm_90 three leave 80 registers, of which none
/// spill; with four some do (`nvcc -Xptxas -v` tells).
inline constexpr int kUpdateBlocks = 3;

/// Columns of pieces that a lane has on their way at once: what a row needs first, its weights and
/// the gradient of its first lookup. Eight columns a lane have registers for one. To be measured:
/// "fp16, D 128" of gpu_lookup_bench with two of them and two blocks, which spills nothing either.
constexpr int pieces_in_flight(int width) { return width > 4 ? 1 : 2; }

/// Adds up the gradients of pieces and updates their rows, or leaves partial sums. With row-wise
/// Adagrad, for rows that a group of lanes reads at once. Called by whole warps.
template <typename Weights, bool kAdagrad, typename Lookup>
__device__ __forceinline__ void update_units(const Units<Lookup>& units) {
  constexpr int kWidth = Weights::kWidth;
  constexpr int kPiecesInFlight = pieces_in_flight(kWidth);
  const int lane_column = units.lane() * kWidth;
  int unit = 0;
  int first_column = 0;  // of the group's lanes; the same for all of the warp, as unit
  while (unit < units.count) {
    Piece<Lookup> pieces[kPiecesInFlight];
    int columns[kPiecesInFlight] = {};
    Columns<kWidth> gradients[kPiecesInFlight] = {};
    typename Weights::Raw weights[kPiecesInFlight] = {};
    float states[kPiecesInFlight] = {};
    NEUROSHARD_UNROLL
    for (int u = 0; u < kPiecesInFlight; ++u) {
      Piece<Lookup>& piece = pieces[u];
      piece = units.piece_of(unit);
      columns[u] = first_column + lane_column;
      if (columns[u] >= units.dim) piece.row = -1;  // a lane behind the last column
      first_column += kWidth << units.lane_bits;
      if (first_column >= units.dim) {
        first_column = 0;
        ++unit;
      }
      if (piece.row < 0) continue;
      gradients[u] = units.template first_gradient<kWidth>(piece, columns[u]);
      if (piece.place >= 0) continue;
      weights[u] = Weights::fetch(units.row(piece) + columns[u] * Weights::kElementBytes);
      if constexpr (kAdagrad) states[u] = units.state[piece.row];
    }
    NEUROSHARD_UNROLL
    for (int u = 0; u < kPiecesInFlight; ++u) {
      const Piece<Lookup>& piece = pieces[u];
      const bool direct = piece.row >= 0 && piece.place < 0;
      float sum[kWidth] = {};
      if (piece.row >= 0) units.template add_up<kWidth>(piece, gradients[u], columns[u], sum);
      if (piece.row >= 0 && !direct) units.template leave_partial<kWidth>(piece, columns[u], sum);
      float step = units.update.learning_rate;
      if constexpr (kAdagrad) {
        const float squares = group_sum(square_of<kWidth>(sum), units.lane_bits);
        __syncwarp();  // everyone has read the state before one lane writes it
        const float state = (direct ? states[u] : 0.0F) + squares / static_cast<float>(units.dim);
        if (direct && units.lane() == 0) units.state[piece.row] = state;
        step = adagrad_step(state, units.update);
      }
      if (!direct) continue;
      Weights::update(units.row(piece) + columns[u] * Weights::kElementBytes, weights[u], sum,
                      step);
    }
  }
}

/// The same with row-wise Adagrad for rows that take a warp several reads: sums of squares first,
/// then the gradients once more. Called by whole warps.
template <typename Weights, typename Lookup>
__device__ __forceinline__ void update_wide_adagrad(const Units<Lookup>& units) {
  constexpr int kWidth = Weights::kWidth;
  float sum[kWidth];
  NEUROSHARD_NO_UNROLL
  for (int unit = 0; unit < units.count; ++unit) {
    const Piece<Lookup> piece = units.piece_of(unit);
    if (piece.row < 0) continue;  // the same for the whole warp: it has one group
    float state = 0;
    float step = 0;
    NEUROSHARD_NO_UNROLL
    for (int pass = 0; pass < 2; ++pass) {
      const bool update = pass == 1;
      float squares = 0;
      NEUROSHARD_NO_UNROLL
      for (int column = units.lane() * kWidth; column < units.dim; column += kWidth * kWarpLanes) {
        units.template add_up<kWidth>(piece, units.template first_gradient<kWidth>(piece, column),
                                      column, sum);
        squares += square_of<kWidth>(sum);
        char* const at = units.row(piece) + column * Weights::kElementBytes;
        if (piece.place >= 0) {
          units.template leave_partial<kWidth>(piece, column, sum);
        } else if (update) {
          Weights::update(at, Weights::fetch(at), sum, step);
        }
      }
      if (piece.place >= 0) break;
      if (update) continue;
      squares = group_sum(squares, 5);
      state = units.state[piece.row] + squares / static_cast<float>(units.dim);
      step = adagrad_step(state, units.update);
    }
    __syncwarp();  // everyone has read the state before one lane writes it
    if (piece.place < 0 && units.lane() == 0) units.state[piece.row] = state;
  }
}

template <typename Weights, typename Lookup>
__device__ __forceinline__ void update_rows(const Units<Lookup>& units) {
  if (units.state == nullptr) {
    update_units<Weights, false>(units);
  } else if (units.dim <= Weights::kWidth << units.lane_bits) {
    update_units<Weights, true>(units);
  } else {
    update_wide_adagrad<Weights>(units);
  }
}

/// The table of a unit: the last one at or behind `table` that begins at or before the unit and has
/// units.
__device__ __forceinline__ int table_of(const std::int64_t* first_unit, int table, int tables,
                                        std::int64_t unit) {
  int high = unit < first_unit[table + 1] ? table : tables - 1;
  while (table < high) {
    const int middle = (table + high + 1) / 2;
    if (first_unit[middle] <= unit) {
      table = middle;
    } else {
      high = middle - 1;
    }
  }
  return table;
}

/// Warps take units in turn until there are none left: number w of W warps those of number w, w +
/// W, w + 2 W and so on, as many at a time as its lanes can hold the pieces of. Units are
/// fewer than lookups, which are fewer than 2^31: 32 bits count them.
template <typename Key, typename Lookup>
__global__ void __launch_bounds__(kBlockThreads, kUpdateBlocks)
    update_kernel(const UpdateTable* __restrict__ tables, int count,
                  SortedLookups<Key, Lookup> sorted, std::int64_t bags,
                  const float* __restrict__ gradient, std::int64_t stride, BagUpdate update,
                  float* __restrict__ partials, std::int64_t partial_stride) {
  const auto warps = static_cast<std::uint32_t>(gridDim.x) * (kBlockThreads / kWarpLanes);
  const auto warp_lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const auto units = static_cast<std::uint32_t>(sorted.first_unit[count]);
  int t = 0;
  std::uint32_t unit = (blockIdx.x * kBlockThreads + threadIdx.x) / kWarpLanes;
  while (unit < units) {
    t = table_of(sorted.first_unit, t, count, unit);
    const UpdateTable& table = tables[t];
    const int lane_bits = table.lane_bits;
    const auto left = static_cast<std::uint32_t>(sorted.first_unit[t + 1] - unit);
    const auto here = std::min((left + warps - 1) / warps, 1U << lane_bits);

    const int groups_bits = 5 - lane_bits;
    const std::uint32_t ahead = static_cast<std::uint32_t>(warp_lane) >> groups_bits;
    const std::int64_t number = sorted.first_piece[t] + (warp_lane & ((1 << groups_bits) - 1)) +
                                ((unit - sorted.first_unit[t] + ahead * warps) << groups_bits);
    Units<Lookup> work{{},
                       static_cast<int>(here),
                       lane_bits,
                       table.dim,
                       table.weights,
                       table.state,
                       static_cast<std::uint32_t>(table.row_bytes),
                       static_cast<std::uint32_t>(t * bags),
                       sorted.lookups,
                       gradient + table.column,
                       stride,
                       update,
                       partials,
                       partial_stride};
    if (ahead < here && number < sorted.first_piece[t + 1]) {
      work.held = sorted.piece(number, table.first_row);
    }
    switch (table.access) {
      case Access::kFp32x4:
        update_rows<Fp32Access<4>>(work);
        break;
      case Access::kFp32x1:
        update_rows<Fp32Access<1>>(work);
        break;
      case Access::kFp16x8:
        update_rows<Fp16Access<8>>(work);
        break;
      case Access::kFp16x4:
        update_rows<Fp16Access<4>>(work);
        break;
      case Access::kFp16x1:
        update_rows<Fp16Access<1>>(work);
        break;
    }
    unit += here * warps;
  }
}

}  // namespace neuroshard::cuda
