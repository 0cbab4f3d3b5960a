#include "engine/planner/equal_columns/column_parts.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "engine/core/shards_by_table.h"

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
                    .rows = false,
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

/// Columns of a table by device.
using Widths = std::map<std::int32_t, std::int32_t>;

/// Whether devices have blocks of one width, and the table may be in as many.
bool equal(const Widths& widths, const Table& table, std::int32_t devices) {
  const std::int32_t device = widths.begin()->first;
  const std::int32_t width = widths.begin()->second;
  const bool whole = widths.size() == 1 && device != kEveryDevice;
  if (whole && devices > 1 && !table.sharding.whole) return false;
  return std::all_of(widths.begin(), widths.end(),
                     [&](const auto& one) { return one.second == width; });
}

}  // namespace

std::vector<std::int32_t> possible_parts(const search::TableSpace& own, std::int32_t devices,
                                         bool replicas) {
  std::vector<std::int32_t> parts;
  const Table& table = *own.table;
  const AllowedSharding& allowed = own.sharding;
  if (allowed.whole || (allowed.data_parallel && replicas)) parts.push_back(1);
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
    whole.shards.push_back(
        {block.table, 0, table.rows, block.index * width, (block.index + 1) * width, shard.device});
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
    const bool all_rows = std::all_of(
        own.begin(), own.end(), [&](const Shard& shard) { return shard.rows() == table.rows; });
    const Widths widths = columns_by_device(own);
    if (!all_rows || !equal(widths, table, plan.devices)) {
      laid.unequal.push_back(index);
      continue;
    }
    std::int32_t column = 0;
    for (const auto& [device, width] : widths) {
      laid.plan.shards.push_back(
          {index, 0, table.rows, column, column + width, device, own.front().kernel});
      column += width;
    }
  }
  return laid;
}

}  // namespace neuroshard
