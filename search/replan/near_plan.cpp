#include "search/replan/near_plan.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/core/shards_by_table.h"

namespace neuroshard::search {
namespace {

/// A plan's shards by the number of their table; none for a table that the plan does not have.
std::vector<std::span<const Shard>> by_table(const Plan& plan, std::size_t tables) {
  std::vector<std::span<const Shard>> shards(tables);
  for (const std::span<const Shard> own : shards_by_table(plan)) {
    shards[static_cast<std::size_t>(own.front().table)] = own;
  }
  return shards;
}

/// The number that each device gets: pairs with the most bytes in common find each other first.
class Matching {
 public:
  explicit Matching(std::int32_t devices) : devices_(static_cast<std::size_t>(devices)) {}

  void add(std::span<const Shard> shards, std::span<const Shard> now, const Table& table) {
    const std::map<std::int32_t, Held> all_held = held_by_device(now);
    for (const auto& [device, own] : held_by_device(shards)) {
      for (const auto& [place, held] : all_held) {
        const std::int64_t rows =
            std::min(own.row_end, held.row_end) - std::max(own.row_begin, held.row_begin);
        if (rows <= 0) continue;
        common_[{device, place}] += rows * row_bytes(table, std::min(own.dim, held.dim));
      }
    }
  }

  [[nodiscard]] std::vector<std::int32_t> numbers() const {
    std::vector<std::tuple<std::int64_t, std::int32_t, std::int32_t>> pairs;
    for (const auto& [pair, bytes] : common_) pairs.emplace_back(-bytes, pair.first, pair.second);
    std::sort(pairs.begin(), pairs.end());
    std::vector<std::int32_t> numbers(devices_, -1);
    std::vector<bool> taken(devices_);
    for (const auto& [bytes, device, place] : pairs) {
      std::int32_t& number = numbers[static_cast<std::size_t>(device)];
      if (number >= 0 || taken[static_cast<std::size_t>(place)]) continue;
      number = place;
      taken[static_cast<std::size_t>(place)] = true;
    }
    std::size_t free = 0;
    for (std::int32_t& number : numbers) {
      if (number >= 0) continue;
      while (taken[free]) ++free;
      number = static_cast<std::int32_t>(free++);
    }
    return numbers;
  }

 private:
  /// What a device has of a table, if those are columns of the same rows.
  struct Held {
    std::int64_t row_begin = 0;
    std::int64_t row_end = 0;
    std::int32_t dim = 0;
  };

  /// Without what every device has.
  static std::map<std::int32_t, Held> held_by_device(std::span<const Shard> shards) {
    std::map<std::int32_t, Held> held;
    for (const Shard& shard : shards) {
      if (shard.device == kEveryDevice) continue;
      Held& own = held[shard.device];
      own = {shard.row_begin, shard.row_end, own.dim + shard.dim()};
    }
    return held;
  }

  std::size_t devices_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> common_;
};

/// Whether each device has a block of the table's rows, in the order of their numbers, or all of
/// it: devices then have those that their numbers say, as trainers deal them out. `shards` are by
/// their rows.
bool on_all_devices(std::span<const Shard> shards, const Table& table, std::int32_t devices) {
  if (shards.front().device == kEveryDevice) return true;
  if (shards.front().rows() == table.rows || std::ssize(shards) != devices) return false;
  std::int32_t next = 0;
  return std::all_of(shards.begin(), shards.end(),
                     [&](const Shard& shard) { return shard.device == next++; });
}

/// Deals the columns of a table out to its shards in the order in which their devices have them
/// now; devices that have none come last.
void lay_columns(std::span<Shard> shards, std::span<const Shard> now, std::int32_t dim) {
  const auto first_held = [&](const Shard& shard) {
    std::int32_t first = dim;
    for (const Shard& held : now) {
      if (held.device == shard.device) first = std::min(first, held.column_begin);
    }
    return first;
  };
  std::stable_sort(shards.begin(), shards.end(),
                   [&](const Shard& a, const Shard& b) { return first_held(a) < first_held(b); });
  std::int32_t column = 0;
  for (Shard& shard : shards) {
    shard.column_end = column + shard.dim();
    shard.column_begin = std::exchange(column, shard.column_end);
  }
}

}  // namespace

Plan brought_near(const Plan& plan, const Plan& now, const Workload& workload,
                  const std::set<std::int32_t>& staying, bool alike) {
  const std::size_t tables = workload.tables.size();
  const auto wanted = by_table(plan, tables);
  const auto held = by_table(now, tables);
  const auto stays = [&](std::size_t table) {
    return staying.contains(static_cast<std::int32_t>(table));
  };
  Matching matching(plan.devices);
  const auto by_number = [&](std::size_t table) {
    return on_all_devices(wanted[table], workload.tables[table], plan.devices);
  };
  for (std::size_t table = 0; table < tables && alike; ++table) {
    if (stays(table) || by_number(table)) continue;
    matching.add(wanted[table], held[table], workload.tables[table]);
  }
  const std::vector<std::int32_t> numbers = matching.numbers();
  Plan near{plan.devices, {}};
  for (std::size_t table = 0; table < tables; ++table) {
    if (stays(table)) {
      near.shards.insert(near.shards.end(), held[table].begin(), held[table].end());
      continue;
    }
    const std::size_t begin = near.shards.size();
    for (Shard shard : wanted[table]) {
      const bool renamed = alike && !by_number(table);
      if (renamed) shard.device = numbers[static_cast<std::size_t>(shard.device)];
      near.shards.push_back(shard);
    }
    if (wanted[table].front().rows() < workload.tables[table].rows) continue;
    lay_columns(std::span(near.shards).subspan(begin), held[table], workload.tables[table].dim);
  }
  canonicalize(near);
  return near;
}

}  // namespace neuroshard::search
