#include "search/piece_sizes.h"

#include <algorithm>
#include <limits>

#include "engine/core/row_blocks.h"

namespace neuroshard::search {
namespace {

constexpr std::int64_t kTooLarge = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t kGrain = kLeastColumns;

/// Of a table that may be in columns: whole, or in two of them at least.
bool has_columns(const TableSpace& table) {
  return table.sharding.whole || split_point(table, table.table->dim) > 0;
}

bool has_halves(const TableSpace& table, std::int32_t parts) {
  return may_halve_rows(table) && parts > 1 && table.table->rows > 1;
}

}  // namespace

std::int32_t sequence_columns(const TableSpace& table) {
  std::int32_t columns = table.table->dim;
  for (std::int32_t parts = 2; parts <= std::max(2, table.sequence_parts); parts *= 2) {
    const std::int32_t half = columns / 2;
    if (columns % 2 != 0 || half % kGrain != 0 || half < table.sharding.min_columns) break;
    columns = half;
  }
  return columns;
}

std::int32_t least_columns(const TableSpace& table) {
  return table.table->pooled ? table.sharding.min_columns : sequence_columns(table);
}

bool may_have_any_widths(const TableSpace& table) {
  return table.table->pooled && split_point(table, table.table->dim) > 0;
}

std::int32_t split_point(const TableSpace& table, std::int32_t dim) {
  if (!table.sharding.columns) return 0;
  const std::int32_t first = (dim / kGrain + 1) / 2 * kGrain;
  return std::min(first, dim - first) < least_columns(table) ? 0 : first;
}

std::int32_t finest_dim(const TableSpace& table) {
  if (!table.sharding.columns) return table.table->dim;
  // After k splits, all pieces but the one with the odd columns have the quotient by 2^k, rounded
  // down or up; that one has it rounded down, and is split as long as those are.
  std::int32_t fewer = table.table->dim / kGrain;
  std::int32_t more = fewer;
  const std::int32_t least = least_columns(table);
  const auto splits = [&](std::int32_t grains) { return grains / 2 * kGrain >= least; };
  while (splits(fewer)) {
    fewer /= 2;
    more = (more + 1) / 2;
  }
  return more > fewer && !splits(more) ? more * kGrain : fewer * kGrain + table.table->dim % kGrain;
}

std::int64_t upper_half(std::int64_t rows) { return rows - rows / 2; }

std::int64_t finest_rows(std::int64_t rows, std::int32_t parts) {
  for (; parts > 1 && rows > 1; parts /= 2) rows = upper_half(rows);
  return rows;
}

std::int64_t finest_column_bytes(const SearchSpace& space, std::int32_t table) {
  const TableSpace& whole = space.of(table);
  if (!has_columns(whole)) return kTooLarge;
  return space.bytes(space.shape(table, whole.table->rows, finest_dim(whole)));
}

std::int64_t finest_half_bytes(const SearchSpace& space, std::int32_t table, std::int32_t parts) {
  const TableSpace& whole = space.of(table);
  const bool halves = has_halves(whole, parts);
  if (!halves && !whole.sharding.whole) return kTooLarge;
  const std::int64_t rows = whole.table->rows;
  return space.bytes(
      space.shape(table, halves ? finest_rows(rows, parts) : rows, whole.table->dim));
}

std::int64_t even_block(std::int64_t rows, std::int32_t devices) {
  const std::int64_t block = block_rows(rows, devices);
  return block * (devices - 1) < rows ? block : 0;
}

std::int64_t even_block(const TableSpace& table, std::int32_t devices) {
  const bool allowed = table.sharding.rows && table.devices.all();
  return allowed && devices > 1 ? even_block(table.table->rows, devices) : 0;
}

std::int64_t even_block_of_host(const TableSpace& table, std::int32_t host_devices) {
  // Sequences have none in TorchRec, whose formula is the one that knows hosts.
  const bool allowed = table.sharding.rows && !table.rows_over_all && table.table->pooled;
  if (!allowed || host_devices < 2) return 0;
  const std::int64_t block = even_block(table.table->rows, host_devices);
  if (table.devices.all()) return block;
  const std::int32_t first = first_host(block);
  for (const std::int32_t device : table.devices.devices()) {
    const std::int32_t host = device / host_devices;
    if (host >= first && has_host(table.devices, host, host_devices)) return block;
  }
  return 0;
}

bool may_halve_rows(const TableSpace& table) { return table.sharding.rows && !table.rows_over_all; }

bool may_be_replicated(const TableSpace& table) {
  return table.sharding.data_parallel && table.devices.all();
}

Shard block_on(Shard whole, std::int64_t block, std::int32_t device) {
  whole.device = device;
  whole.row_begin = device * block;
  whole.row_end = std::min(whole.row_begin + block, whole.row_end);
  return whole;
}

bool has_pieces(const TableSpace& table, const RowShapes& rows) {
  return has_columns(table) || has_halves(table, rows.halves) ||
         even_block(table, rows.blocks) > 0 || even_block_of_host(table, rows.host) > 0 ||
         (may_be_replicated(table) && rows.replicas > 1);
}

}  // namespace neuroshard::search
