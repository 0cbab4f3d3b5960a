#include "search/equal_columns.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "engine/core/row_blocks.h"
#include "engine/core/shards_by_table.h"
#include "search/piece_sizes.h"

namespace neuroshard::search {
namespace {

/// Devices that the table may be on, of so many.
std::int32_t places_of(const TableSpace& table, std::int32_t devices) {
  std::int32_t places = 0;
  for (std::int32_t device = 0; device < devices; ++device) places += table.devices.has(device);
  return places;
}

/// What a device has of a table: so many columns of some rows.
struct Held {
  RowRange rows;
  std::int32_t width = 0;
};

/// By device. Empty where a device has columns of several row ranges.
std::map<std::int32_t, Held> held_by_devices(std::span<const Shard> shards) {
  std::map<std::int32_t, Held> held;
  for (const Shard& shard : shards) {
    const RowRange rows{shard.row_begin, shard.row_end};
    Held& own = held.try_emplace(shard.device, Held{rows, 0}).first->second;
    if (own.rows != rows) return {};
    own.width += shard.dim();
  }
  return held;
}

/// In how many row blocks the table is, 1 for all rows: as many devices in order have one after the
/// other, so do the next, and so on, and all have equally many columns. 0 where that is not so, or
/// the table is whole and may not be.
std::int32_t row_blocks_of(const std::map<std::int32_t, Held>& held, const Table& table,
                           std::int32_t devices) {
  if (held.empty()) return 0;
  const bool everywhere = held.begin()->first == kEveryDevice;
  if (held.size() == 1 && !everywhere && devices > 1 && !table.sharding.whole) return 0;
  if (held.size() > 1 && everywhere) return 0;  // its hot rows
  const auto last = std::find_if(
      held.begin(), held.end(), [&](const auto& one) { return one.second.rows.end == table.rows; });
  if (last == held.end()) return 0;
  const auto blocks = static_cast<std::int32_t>(std::distance(held.begin(), last)) + 1;
  if (std::ssize(held) % blocks != 0) return 0;
  std::int32_t place = 0;
  for (const auto& [device, own] : held) {
    if (own.width != held.begin()->second.width) return 0;
    if (!is_row_block(own.rows, table.rows, blocks, place++ % blocks)) return 0;
  }
  return blocks;
}

}  // namespace

std::vector<std::int32_t> equal_parts(const TableSpace& own, std::int32_t devices) {
  std::vector<std::int32_t> parts;
  const Table& table = *own.table;
  if (own.sharding.whole) parts.push_back(1);
  const std::int32_t most =
      std::min({devices, table.dim / kLeastColumns, table.pooled ? devices : 2});
  for (std::int32_t count = 2; count <= most; ++count) {
    const std::int32_t width = table.dim / count;
    if (table.dim % count != 0 || width % kLeastColumns != 0) continue;
    if (own.sharding.allows_columns(width)) parts.push_back(count);
  }
  return parts;
}

SearchSpace with_equal_blocks(SearchSpace space, std::int32_t devices, const RowShapes& rows) {
  for (TableSpace& own : space.tables) {
    const std::int32_t places = places_of(own, devices);
    const bool everywhere = even_block(own, rows.blocks) > 0 ||
                            even_block_of_host(own, rows.host) > 0 ||
                            (may_be_replicated(own) && rows.replicas > 1);
    if (everywhere || !equal_parts(own, places).empty()) own.most_blocks = places;
  }
  return space;
}

bool has_equal_blocks(const SearchSpace& space) {
  return std::any_of(space.tables.begin(), space.tables.end(),
                     [](const TableSpace& own) { return own.most_blocks > 0; });
}

SearchSpace with_any_blocks(SearchSpace space) {
  for (TableSpace& own : space.tables) {
    own.most_blocks = 0;
    own.sequence_parts = 2;
  }
  return space;
}

EqualColumnsPlan with_equal_columns(const Workload& workload, const Plan& plan) {
  Plan given = plan;
  canonicalize(given);
  EqualColumnsPlan laid{{plan.devices, {}}, {}};
  for (const std::span<const Shard> own : shards_by_table(given)) {
    const std::int32_t index = own.front().table;
    const Table& table = workload.tables[static_cast<std::size_t>(index)];
    const auto held = held_by_devices(own);
    const std::int32_t blocks = row_blocks_of(held, table, plan.devices);
    if (blocks == 0) {
      laid.unequal.push_back(index);
      continue;
    }
    std::int32_t place = 0;
    for (const auto& [device, one] : held) {
      const RowRange rows = modulo_rows(table.rows, blocks, place % blocks);
      const std::int32_t column = place / blocks * one.width;
      laid.plan.shards.push_back(
          {index, rows.begin, rows.end, column, column + one.width, device, own.front().kernel});
      ++place;
    }
  }
  canonicalize(laid.plan);
  return laid;
}

std::optional<Plan> laid_in_blocks(const SearchSpace& space, const Workload& workload,
                                   const Plan& plan) {
  EqualColumnsPlan equal = with_equal_columns(workload, plan);
  const auto may_be = [&](std::int32_t table) { return space.of(table).most_blocks > 0; };
  const auto& unequal = equal.unequal;
  if (std::any_of(unequal.begin(), unequal.end(), may_be)) return std::nullopt;
  for (const Shard& shard : plan.shards) {
    if (std::find(unequal.begin(), unequal.end(), shard.table) != unequal.end()) {
      equal.plan.shards.push_back(shard);
    }
  }
  canonicalize(equal.plan);
  return std::move(equal.plan);
}

}  // namespace neuroshard::search
