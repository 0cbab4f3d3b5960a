#include "engine/core/held_cells.h"

#include <algorithm>

namespace neuroshard {
namespace {

/// Bytes of what two shards of a table have in common.
std::int64_t common_bytes(const Table& table, const Shard& a, const Shard& b) {
  const std::int64_t rows = std::min(a.row_end, b.row_end) - std::max(a.row_begin, b.row_begin);
  const std::int32_t dim =
      std::min(a.column_end, b.column_end) - std::max(a.column_begin, b.column_begin);
  return rows > 0 && dim > 0 ? rows * row_bytes(table, dim) : 0;
}

}  // namespace

HeldCells::HeldCells(const Workload& workload, const Plan& plan)
    : workload_(workload), devices_(plan.devices), of_table_(workload.tables.size()) {
  for (const Shard& shard : plan.shards) {
    of_table_[static_cast<std::size_t>(shard.table)].push_back(shard);
  }
}

std::int64_t HeldCells::held_bytes(const Shard& shard, std::int32_t device) const {
  const auto table = static_cast<std::size_t>(shard.table);
  std::int64_t held = 0;
  for (const Shard& own : of_table_[table]) {
    if (own.device != device && own.device != kEveryDevice) continue;
    held += common_bytes(workload_.tables[table], shard, own);
  }
  return held;
}

/// Two parts of a row have a number of the optimizer each where a row-wise one keeps one for the
/// whole: there is never less than nothing to bring.
std::int64_t HeldCells::missing_on(const Shard& shard, std::int32_t device) const {
  const std::int64_t bytes = shard_bytes(workload_, shape_of(shard));
  return std::max<std::int64_t>(0, bytes - held_bytes(shard, device));
}

std::int64_t HeldCells::missing_bytes(const Shard& shard) const {
  if (shard.device != kEveryDevice) return missing_on(shard, shard.device);
  std::int64_t bytes = 0;
  for (std::int32_t device = 0; device < devices_; ++device) bytes += missing_on(shard, device);
  return bytes;
}

std::int32_t HeldCells::home_of(const Shard& shard) const {
  std::int32_t home = kEveryDevice;
  std::int64_t most = -1;
  for (const Shard& own : of_table_[static_cast<std::size_t>(shard.table)]) {
    if (own.device == kEveryDevice) return kEveryDevice;
    const std::int64_t held = held_bytes(shard, own.device);
    if (held < most || (held == most && own.device >= home)) continue;
    most = held;
    home = own.device;
  }
  return home;
}

std::int64_t moved_bytes(const Workload& workload, const Plan& from, const Plan& to) {
  const HeldCells held(workload, from);
  std::int64_t bytes = 0;
  for (const Shard& shard : to.shards) bytes += held.missing_bytes(shard);
  return bytes;
}

}  // namespace neuroshard
