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
    const std::map<std::int32_t, std::int32_t> held_columns = columns_by_device(now);
    for (const auto& [device, dim] : columns_by_device(shards)) {
      for (const auto& [place, held] : held_columns) {
        common_[{device, place}] += table.rows * row_bytes(table, std::min(dim, held));
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
  std::size_t devices_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> common_;
};

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
  for (std::size_t table = 0; table < tables && alike; ++table) {
    if (!stays(table)) matching.add(wanted[table], held[table], workload.tables[table]);
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
      if (alike) shard.device = numbers[static_cast<std::size_t>(shard.device)];
      near.shards.push_back(shard);
    }
    lay_columns(std::span(near.shards).subspan(begin), held[table], workload.tables[table].dim);
  }
  canonicalize(near);
  return near;
}

}  // namespace neuroshard::search
