#include "cuda/lookup/bag_layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace neuroshard::cuda {
namespace {

Access choose_access(const BagTable& table, std::int64_t column, std::int64_t columns) {
  // Pooled values and gradients move in 16 bytes, too: their column must be a multiple of four.
  const bool aligned = table.dim % 4 == 0 && column % 4 == 0 && columns % 4 == 0;
  if (table.data_type == DataType::kFp32) return aligned ? Access::kFp32x4 : Access::kFp32x1;
  if (!aligned) return Access::kFp16x1;
  return table.dim % 8 == 0 ? Access::kFp16x8 : Access::kFp16x4;
}

int lane_bits_for(std::int64_t width, Access access) {
  const std::int64_t lanes = (width + lane_width(access) - 1) / lane_width(access);
  return std::min(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(lanes - 1))), 5);
}

/// How the columns of a table are cut into slices: evenly, as few as a warp's loads can span.
struct Cut {
  std::int64_t parts;
  std::int64_t width;  ///< of all but the last one
};
Cut cut_columns(const BagTable& table, Access access) {
  const std::int64_t step = lane_width(access);
  const std::int64_t most = std::int64_t{kWarpLanes} * step;
  const std::int64_t parts = (table.dim + most - 1) / most;
  return {parts, ((table.dim + parts - 1) / parts + step - 1) / step * step};
}

/// Rows that the table's lookups ask whole warps to read: narrow ones share a warp.
double warp_rows(const BagTable& table, Access access) {
  const Cut cut = cut_columns(table, access);
  const auto lanes = static_cast<double>(cut.parts << lane_bits_for(cut.width, access));
  return static_cast<double>(table.lookups) * lanes / kWarpLanes;
}

/// Bags that make up about `lookups` of the table.
std::int32_t bags_for(const BagTable& table, std::int64_t bags, std::int64_t lookups) {
  if (table.lookups == 0) return static_cast<std::int32_t>(lookups);
  const double mean = static_cast<double>(table.lookups) / static_cast<double>(bags);
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(std::lround(static_cast<double>(lookups) / mean), 1, lookups));
}

Status add_slices(const BagTable& table, Access access, std::int64_t column,
                  std::int64_t group_lookups, BagLayout& layout) {
  const std::int64_t even = cut_columns(table, access).width;
  const std::int64_t element = bytes_per_element(table.data_type);
  const auto* const weights = static_cast<const char*>(table.weights);  // none in an empty table
  for (std::int64_t begin = 0; begin < table.dim; begin += even) {
    const std::int64_t width = std::min(even, table.dim - begin);
    const int lane_bits = lane_bits_for(width, access);
    const std::int32_t per_group = bags_for(table, layout.bags, group_lookups);
    const std::int64_t per_tile = std::int64_t{kBlockThreads >> lane_bits} * per_group;
    const std::int64_t tiles = (layout.bags + per_tile - 1) / per_tile;
    const auto first_tile = static_cast<std::int64_t>(layout.slice_of_tile.size());
    if (first_tile + tiles > INT32_MAX) {
      return invalid_input("a fused lookup of more than 2^31 blocks of bags");
    }
    layout.slice_of_tile.insert(layout.slice_of_tile.end(), static_cast<std::size_t>(tiles),
                                static_cast<std::int32_t>(layout.slices.size()));
    layout.slices.push_back({.weights = weights == nullptr ? nullptr : weights + begin * element,
                             .indices = table.indices,
                             .offsets = table.offsets,
                             .sample_weights = table.sample_weights,
                             .row_bytes = table.dim * element,
                             .out_column = column + begin,
                             .width = static_cast<std::int32_t>(width),
                             .access = access,
                             .lane_bits = lane_bits,
                             .bags_per_group = per_group,
                             .first_tile = static_cast<std::int32_t>(first_tile),
                             .mean = table.pooling == Pooling::kMean ? 1 : 0});
  }
  return {};
}

Status check(const BagTable& table, std::size_t number) {
  if (table.dim >= 1 && table.dim <= kMaxDim && table.rows >= 0 && table.rows <= INT32_MAX &&
      table.lookups >= 0) {
    return {};
  }
  return invalid_input(
      "fused lookup: table " + std::to_string(number) + " has " + std::to_string(table.rows) +
      " rows, dim " + std::to_string(table.dim) + " and " + std::to_string(table.lookups) +
      " lookups, expected below 2^31 rows and 1 to " + std::to_string(kMaxDim) + " columns");
}

}  // namespace

Result<BagLayout> lay_out(std::span<const BagTable> tables, std::int64_t bags) {
  BagLayout layout;
  layout.bags = bags;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    NEUROSHARD_RETURN_IF_ERROR(check(tables[t], t));
    layout.columns += tables[t].dim;
  }
  const std::int64_t count = std::ssize(tables);
  if (count > kMaxTables || bags < 1 || bags > UINT32_MAX / std::max<std::int64_t>(count, 1)) {
    return invalid_input("fused lookup of " + std::to_string(count) + " tables with " +
                         std::to_string(bags) + " bags each, expected at most " +
                         std::to_string(kMaxTables) + " tables and 1 to 2^32 bags in all");
  }
  double rows_of_warps = 0;
  std::int64_t column = 0;
  for (const BagTable& table : tables) {
    rows_of_warps += warp_rows(table, choose_access(table, column, layout.columns));
    column += table.dim;
  }
  const auto group_lookups = static_cast<std::int64_t>(std::clamp(rows_of_warps / kWarpsToFillGpu,
                                                                  double{kLeastLookupsPerGroup},
                                                                  double{kMostLookupsPerGroup}));
  column = 0;
  for (const BagTable& table : tables) {
    const Access access = choose_access(table, column, layout.columns);
    NEUROSHARD_RETURN_IF_ERROR(add_slices(table, access, column, group_lookups, layout));
    layout.tables.push_back(
        {.weights = static_cast<char*>(table.weights),
         .state = table.optimizer == Optimizer::kRowwiseAdagrad ? table.state : nullptr,
         .indices = table.indices,
         .offsets = table.offsets,
         .sample_weights = table.sample_weights,
         .row_bytes = table.dim * bytes_per_element(table.data_type),
         .first_row = layout.rows,
         .first_lookup = layout.lookups,
         .column = column,
         .dim = static_cast<std::int32_t>(table.dim),
         .access = access,
         .lane_bits = lane_bits_for(table.dim, access),
         .mean = table.pooling == Pooling::kMean ? 1 : 0});
    layout.scaled |= table.sample_weights != nullptr || table.pooling == Pooling::kMean;
    layout.widest = std::max(layout.widest, table.dim);
    layout.rows += table.rows;
    layout.lookups += table.lookups;
    column += table.dim;
  }
  if (layout.lookups > INT32_MAX - kPieceLookups) {
    return invalid_input("fused lookup of " + std::to_string(layout.lookups) +
                         " rows, expected below 2^31");
  }
  return layout;
}

}  // namespace neuroshard::cuda
