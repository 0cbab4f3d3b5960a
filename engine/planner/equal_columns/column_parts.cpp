#include "engine/planner/equal_columns/column_parts.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "engine/core/row_blocks.h"
#include "engine/core/shards_by_table.h"
#include "search/piece_sizes.h"

namespace neuroshard {
namespace {

/// All that the table may be on, of so many.
std::vector<std::int32_t> devices_of(const search::TableSpace& table, std::int32_t devices) {
  std::vector<std::int32_t> own;
  for (std::int32_t device = 0; device < devices; ++device) {
    if (table.devices.has(device)) own.push_back(device);
  }
  return own;
}

Table block_of(const search::TableSpace& own, std::int32_t count) {
  Table block = *own.table;
  const AllowedSharding& allowed = own.sharding;
  block.dim = own.table->dim / count;
  block.devices = own.devices;
  block.sharding = {.whole = allowed.whole || count > 1,
                    .columns = false,
                    .rows = allowed.rows && count == 1,
                    .data_parallel = allowed.data_parallel && count == 1};
  return block;
}

/// Those of a table's devices that one of its blocks may be on.
DeviceSet share_of(const std::vector<std::int32_t>& devices, const PartedWorkload::Block& block,
                   std::int32_t turn) {
  std::vector<std::int32_t> own;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const std::int64_t place = static_cast<std::int64_t>(k) + turn;
    if (place % block.count == block.index) own.push_back(devices[k]);
  }
  return DeviceSet(std::move(own));
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

std::vector<std::int32_t> possible_parts(const search::TableSpace& own, std::int32_t devices,
                                         bool replicas, bool rows) {
  std::vector<std::int32_t> parts;
  const Table& table = *own.table;
  const AllowedSharding& allowed = own.sharding;
  const bool dealt = rows && search::even_block(own, devices) > 0;
  if (allowed.whole || (allowed.data_parallel && replicas) || dealt) parts.push_back(1);
  const auto places = static_cast<std::int32_t>(devices_of(own, devices).size());
  const std::int32_t most =
      std::min({places, table.dim / kLeastColumns, table.pooled ? places : 2});
  for (std::int32_t count = 2; count <= most; ++count) {
    const std::int32_t width = table.dim / count;
    if (table.dim % count != 0 || width % kLeastColumns != 0) continue;
    if (allowed.allows_columns(width)) parts.push_back(count);
  }
  return parts;
}

PartedWorkload in_parts(const search::Problem& problem, std::span<const std::int32_t> parts,
                        std::span<const std::int32_t> turns) {
  PartedWorkload parted{{{}, problem.workload.batch_size}, {}};
  for (std::size_t index = 0; index < problem.space.tables.size(); ++index) {
    const search::TableSpace& table = problem.space.tables[index];
    const std::vector<std::int32_t> own = devices_of(table, problem.cluster.devices);
    for (std::int32_t k = 0; k < parts[index]; ++k) {
      const PartedWorkload::Block block{static_cast<std::int32_t>(index), k, parts[index]};
      parted.blocks.push_back(block);
      parted.workload.tables.push_back(block_of(table, block.count));
      if (turns[index] == kNoTurn || block.count == 1) continue;
      parted.workload.tables.back().devices = share_of(own, block, turns[index]);
    }
  }
  return parted;
}

Plan plan_of_blocks(const Workload& workload, const PartedWorkload& parted, const Plan& plan) {
  Plan whole{plan.devices, {}};
  for (const Shard& shard : plan.shards) {
    const PartedWorkload::Block& block = parted.blocks[static_cast<std::size_t>(shard.table)];
    const Table& table = workload.tables[static_cast<std::size_t>(block.table)];
    const std::int32_t width = table.dim / block.count;
    whole.shards.push_back({block.table, shard.row_begin, shard.row_end, block.index * width,
                            (block.index + 1) * width, shard.device});
  }
  canonicalize(whole);
  return whole;
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

}  // namespace neuroshard
