#pragma once

// What a warp of the update kernel works on at a time.

#include "cuda/lookup/bag_pieces.cuh"

namespace neuroshard::cuda {

struct BagUpdate {
  float learning_rate;
  float epsilon;
};

/// What a group of lanes does next: sorted lookups [begin, end) of one row; none when row < 0.
template <typename Lookup>
struct Piece {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::int32_t row = -1;
  std::int32_t place = -1;  ///< of a partial sum
  Lookup first{};           ///< the one at `begin`
};

template <typename Value>
__device__ __forceinline__ Value from_lane(Value value, int lane) {
  return __shfl_sync(0xffffffffU, value, lane);
}
__device__ __forceinline__ ScaledLookup from_lane(ScaledLookup lookup, int lane) {
  return {from_lane(lookup.bag, lane), from_lane(lookup.factor, lane)};
}
/// The piece that another lane of the warp holds. Called by whole warps.
template <typename Lookup>
__device__ __forceinline__ Piece<Lookup> from_lane(const Piece<Lookup>& piece, int lane) {
  return {from_lane(piece.begin, lane), from_lane(piece.end, lane), from_lane(piece.row, lane),
          from_lane(piece.place, lane), from_lane(piece.first, lane)};
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

  __device__ Piece<Lookup> piece(std::int64_t number, std::int64_t first_row) const {
    const std::uint32_t begin = piece_begin[number];
    const std::uint32_t end = number + 1 < *pieces ? piece_begin[number + 1] : count;
    return {begin, end, static_cast<std::int32_t>(keys[begin] - first_row),
            static_cast<std::int32_t>(partial_place(keys, begin, end, count)), lookups[begin]};
  }
};

/// What one warp works on: units of one table, their pieces held by its lanes (unit after unit,
/// 2^lane_bits of them at most), and where their gradients are and their sums go. Of the table no
/// more than is needed: what is here stays in registers.
template <typename Lookup>
struct Units {
  Piece<Lookup> held;  ///< by this lane
  int count;
  int lane_bits;
  int dim;
  char* weights;
  float* state;
  std::uint32_t row_bytes;
  std::uint32_t first_bag;  ///< of the table among the bags of all
  const Lookup* lookups;
  const float* gradient;  ///< of the table's columns
  std::int64_t stride;
  BagUpdate update;
  float* partials;
  std::int64_t partial_stride;

  static __device__ int warp_lane() { return static_cast<int>(threadIdx.x % kWarpLanes); }
  [[nodiscard]] __device__ int lane() const { return warp_lane() & ((1 << lane_bits) - 1); }
  /// The piece of this lane's group in a unit; none behind the last one. Called by whole warps.
  [[nodiscard]] __device__ Piece<Lookup> piece_of(int unit) const {
    const int holder = (unit << (5 - lane_bits)) | (warp_lane() >> lane_bits);
    Piece<Lookup> piece = from_lane(held, holder & (kWarpLanes - 1));
    if (unit >= count) piece.row = -1;
    return piece;
  }
  [[nodiscard]] __device__ char* row(const Piece<Lookup>& piece) const {
    return weights + static_cast<std::uint64_t>(static_cast<std::uint32_t>(piece.row)) * row_bytes;
  }
  template <int kWidth>
  [[nodiscard]] __device__ Columns<kWidth> first_gradient(const Piece<Lookup>& piece,
                                                          int column) const {
    return load_columns<kWidth>(gradient + column + (bag_of(piece.first) - first_bag) * stride);
  }
  template <int kWidth>
  __device__ void add_up(const Piece<Lookup>& piece, const Columns<kWidth>& first, int column,
                         float* sum) const {
    NEUROSHARD_UNROLL
    for (int k = 0; k < kWidth; ++k) sum[k] = 0;
    add_gradient(first, piece.first, sum);
    if (piece.end - piece.begin > 1) {
      add_gradients<kWidth>(lookups, piece.begin + 1, piece.end, gradient + column, stride,
                            first_bag, sum);
    }
  }
  template <int kWidth>
  __device__ void leave_partial(const Piece<Lookup>& piece, int column, const float* sum) const {
    float* const to = partials + piece.place * partial_stride + column;
    NEUROSHARD_UNROLL
    for (int k = 0; k < kWidth; ++k) to[k] = sum[k];
  }
};

template <int kWidth>
__device__ __forceinline__ float square_of(const float* sum) {
  float squares = 0;
  NEUROSHARD_UNROLL
  for (int k = 0; k < kWidth; ++k) squares += sum[k] * sum[k];
  return squares;
}

}  // namespace neuroshard::cuda
