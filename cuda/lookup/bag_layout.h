#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/lookup/bag_table.h"
#include "engine/core/status.h"

namespace neuroshard::cuda {

// How a fused lookup is cut into work for the GPU, decided on the CPU: plain values that travel to
// the device as they are, and testable without one.

/// How a lane reads a row: 16 bytes where rows and columns allow it.
enum class Access : std::int32_t { kFp32x4, kFp32x1, kFp16x8, kFp16x4, kFp16x1 };

/// Weights that one lane holds.
constexpr int lane_width(Access access) {
  return access == Access::kFp16x8                                ? 8
         : access == Access::kFp32x4 || access == Access::kFp16x4 ? 4
                                                                  : 1;
}

/// Tables are a dimension of a launch.
inline constexpr std::int64_t kMaxTables = 65535;
inline constexpr int kBlockThreads = 256;
inline constexpr int kWarpLanes = 32;
/// Lookups that one group of lanes aims to have ahead of it, at least and at most: short bags share
/// a group, and large batches give each enough to hide what it loads first (slice, offsets,
/// indices).
inline constexpr int kLeastLookupsPerGroup = 16;
inline constexpr int kMostLookupsPerGroup = 64;
/// Warps that fill a large GPU several times over (132 multiprocessors x 24 warps x 8). Narrow
/// tables have several groups to a warp, so they need more groups, not fewer.
inline constexpr double kWarpsToFillGpu = 25000;
/// Longest piece of a row's sorted lookups that one group of lanes adds up: pieces end at multiples
/// of it, so that every row's sum has a fixed shape and no group is late by more than a few tens of
/// microseconds.
inline constexpr std::int64_t kPieceLookups = 256;

/// Columns of one table that a warp or less reads at once. Wide tables are several slices, narrow
/// ones take as few lanes as they need, so neither waits for the other in a common launch.
struct Slice {
  const char* weights;  ///< of the slice's first column
  const std::int32_t* indices;
  const std::int64_t* offsets;
  const float* sample_weights;
  std::int64_t row_bytes;
  std::int64_t out_column;
  std::int32_t width;  ///< columns
  Access access;
  std::int32_t lane_bits;       ///< 2^lane_bits lanes share a bag
  std::int32_t bags_per_group;  ///< in a row
  std::int32_t first_tile;      ///< blocks of the launch, slice after slice
  std::int32_t mean;            ///< 0 or 1
};

/// A table of the backward pass.
struct UpdateTable {
  char* weights;
  float* state;  ///< null: SGD
  const std::int32_t* indices;
  const std::int64_t* offsets;
  const float* sample_weights;
  std::int64_t row_bytes;
  std::int64_t first_row;     ///< of the table among the rows of all
  std::int64_t first_lookup;  ///< among the lookups of all
  std::int64_t column;        ///< first one, in the gradient
  std::int32_t dim;
  Access access;
  std::int32_t lane_bits;
  std::int32_t mean;
};

struct BagLayout {
  std::vector<Slice> slices;
  std::vector<std::int32_t> slice_of_tile;
  std::vector<UpdateTable> tables;
  std::int64_t bags = 0;
  std::int64_t columns = 0;
  std::int64_t widest = 0;   ///< dim
  std::int64_t rows = 0;     ///< of all tables: sort keys are below
  std::int64_t lookups = 0;  ///< of all tables
  bool scaled = false;       ///< some table has sample weights or mean pooling
};

/// Errors: kInvalidInput, as EmbeddingBag::prepare.
Result<BagLayout> lay_out(std::span<const BagTable> tables, std::int64_t bags);

}  // namespace neuroshard::cuda
