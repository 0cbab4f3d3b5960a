#include "engine/core/held_cells.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace neuroshard {
namespace {

/// Or the most that there is: a table as large as may be that many devices get has more.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

struct Common {
  std::int64_t rows = 0;
  std::int32_t dim = 0;
};

/// What two shards of a table have in common: cells, or nothing.
Common common(const Shard& a, const Shard& b) {
  const std::int64_t rows = std::min(a.row_end, b.row_end) - std::max(a.row_begin, b.row_begin);
  const std::int32_t dim =
      std::min(a.column_end, b.column_end) - std::max(a.column_begin, b.column_begin);
  return rows > 0 && dim > 0 ? Common{rows, dim} : Common{};
}

/// Rows of the shard of which none of `held`, which overlap it, has a cell.
std::int64_t rows_without(const Shard& shard, std::vector<Shard> held) {
  std::sort(held.begin(), held.end(),
            [](const Shard& a, const Shard& b) { return a.row_begin < b.row_begin; });
  std::int64_t rows = 0;
  std::int64_t next = shard.row_begin;
  for (const Shard& own : held) {
    rows += std::max<std::int64_t>(0, own.row_begin - next);
    next = std::max(next, own.row_end);
  }
  return rows + std::max<std::int64_t>(0, shard.row_end - next);
}

}  // namespace

HeldCells::HeldCells(const Workload& workload, const Plan& plan)
    : workload_(workload), devices_(plan.devices), of_table_(workload.tables.size()) {
  for (const Shard& shard : plan.shards) {
    of_table_[static_cast<std::size_t>(shard.table)].push_back(shard);
  }
  for (std::vector<Shard>& shards : of_table_) {
    std::stable_sort(shards.begin(), shards.end(),
                     [](const Shard& a, const Shard& b) { return a.device < b.device; });
  }
}

/// A table that every device holds is one shard.
std::span<const Shard> HeldCells::held_by(std::int32_t table, std::int32_t device) const {
  const std::vector<Shard>& shards = of_table_[static_cast<std::size_t>(table)];
  if (!shards.empty() && shards[0].device == kEveryDevice) return shards;
  const auto [first, last] =
      std::equal_range(shards.begin(), shards.end(), Shard{.device = device},
                       [](const Shard& a, const Shard& b) { return a.device < b.device; });
  return {first, last};
}

std::int64_t HeldCells::missing_on(const Shard& shard, std::int32_t device) const {
  const Table& table = workload_.tables[static_cast<std::size_t>(shard.table)];
  const std::int64_t of_cell = row_bytes(table, 2) - row_bytes(table, 1);
  const std::int64_t of_row = row_bytes(table, 1) - of_cell;
  std::int64_t cells = shard.rows() * shard.dim();
  bool all_rows = of_row == 0;
  std::vector<Shard> held;  // of some of the rows: searches ask often, and columns have all
  for (const Shard& own : held_by(shard.table, device)) {
    const Common both = common(shard, own);
    if (both.rows == 0) continue;
    cells -= both.rows * both.dim;
    all_rows = all_rows || both.rows == shard.rows();
    if (!all_rows) held.push_back(own);
  }
  const std::int64_t rows = all_rows ? 0 : rows_without(shard, std::move(held));
  return cells * of_cell + rows * of_row;
}

std::int64_t HeldCells::missing_bytes(const Shard& shard) const {
  if (of_table_[static_cast<std::size_t>(shard.table)].empty()) return 0;
  if (shard.device != kEveryDevice) return missing_on(shard, shard.device);
  std::int64_t bytes = 0;
  for (std::int32_t device = 0; device < devices_; ++device) {
    bytes = sum(bytes, missing_on(shard, device));
  }
  return bytes;
}

std::vector<std::int32_t> HeldCells::holders_of(const Shard& shard) const {
  std::vector<std::int32_t> devices;
  for (const Shard& own : of_table_[static_cast<std::size_t>(shard.table)]) {
    if (own.device == kEveryDevice) return {};
    if (common(shard, own).rows == 0) continue;
    if (devices.empty() || devices.back() != own.device) devices.push_back(own.device);
  }
  return devices;
}

std::int32_t HeldCells::home_of(const Shard& shard) const {
  std::int32_t home = kEveryDevice;
  std::int64_t least = 0;
  for (const std::int32_t device : holders_of(shard)) {
    const std::int64_t missing = missing_on(shard, device);
    if (home != kEveryDevice && missing >= least) continue;
    home = device;
    least = missing;
  }
  return home;
}

std::int64_t moved_bytes(const Workload& workload, const Plan& from, const Plan& to) {
  const HeldCells held(workload, from);
  std::int64_t bytes = 0;
  for (const Shard& shard : to.shards) bytes = sum(bytes, held.missing_bytes(shard));
  return bytes;
}

}  // namespace neuroshard
