#include "io/plans/plan_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "engine/core/row_blocks.h"

namespace neuroshard::io {
namespace {

using Rows = std::pair<std::int64_t, std::int64_t>;

constexpr std::int64_t kMostRows = std::int64_t{1}
                                   << 60;  // of a file that anybody may have written

RowRange dealt_rows(RowDeal deal, std::int64_t rows, std::int32_t count, std::int32_t place) {
  return deal == RowDeal::kEven ? even_rows(rows, count, place) : modulo_rows(rows, count, place);
}

bool is_dealt(const std::map<Rows, Rows>& ranges, std::int64_t before, RowDeal deal) {
  std::int32_t place = 0;
  return std::all_of(ranges.begin(), ranges.end(), [&](const auto& range) {
    const RowRange rows{range.first.first, range.first.second};
    return dealt_rows(deal, before, static_cast<std::int32_t>(ranges.size()), place++) == rows;
  });
}

bool in_a_row(const std::map<Rows, Rows>& ranges) {
  std::int64_t next = 0;
  return std::all_of(ranges.begin(), ranges.end(), [&](const auto& range) {
    return std::exchange(next, range.first.second) == range.first.first;
  });
}

/// Where what begins at `row` of `before` does when there are `now`.
std::int64_t in_proportion(std::int64_t row, std::int64_t before, std::int64_t now) {
  if (row == before) return now;
  return std::llround(static_cast<double>(row) / static_cast<double>(before) *
                      static_cast<double>(now));
}

/// What `next_of` makes of each range and its place; empty where some would have no rows.
template <typename NextOf>
std::map<Rows, Rows> renewed(const std::map<Rows, Rows>& ranges, const NextOf& next_of) {
  std::map<Rows, Rows> made;
  std::int32_t place = 0;
  for (const auto& [rows, same] : ranges) {
    const RowRange next = next_of(rows, place++);
    if (next.begin >= next.end) return {};
    made[rows] = {next.begin, next.end};
  }
  return made;
}

/// What each row range of a table that had `before` rows becomes when it has `now`; empty where
/// some would have no rows, or they are not those of a table.
std::map<Rows, Rows> fitted(const std::map<Rows, Rows>& ranges, std::int64_t before,
                            std::int64_t now, RowDeal deal) {
  if (!in_a_row(ranges)) return {};
  const auto count = static_cast<std::int32_t>(ranges.size());
  bool dealt = false;
  for (const RowDeal each : {deal, deal == RowDeal::kEven ? RowDeal::kModulo : RowDeal::kEven}) {
    if (!is_dealt(ranges, before, each)) continue;
    dealt = true;
    std::map<Rows, Rows> made = renewed(ranges, [&](const Rows&, std::int32_t place) {
      return dealt_rows(each, now, count, place);
    });
    if (!made.empty()) return made;
  }
  if (dealt) return {};
  return renewed(ranges, [&](const Rows& rows, std::int32_t) {
    return RowRange{in_proportion(rows.first, before, now),
                    in_proportion(rows.second, before, now)};
  });
}

}  // namespace

std::vector<std::int32_t> fit_rows(const Workload& workload, Plan& plan, RowDeal deal) {
  std::vector<std::map<Rows, Rows>> ranges(workload.tables.size());
  for (const Shard& shard : plan.shards) {
    if (shard.table < 0 || shard.table >= std::ssize(ranges)) continue;
    const Rows rows{shard.row_begin, shard.row_end};
    ranges[static_cast<std::size_t>(shard.table)].emplace(rows, rows);
  }
  std::vector<std::int32_t> changed;
  for (std::size_t index = 0; index < ranges.size(); ++index) {
    if (ranges[index].empty()) continue;
    std::int64_t before = 0;
    for (const auto& [rows, same] : ranges[index]) before = std::max(before, rows.second);
    const std::int64_t now = workload.tables[index].rows;
    if (before == now || before < 1 || before > kMostRows) continue;
    ranges[index] = fitted(ranges[index], before, now, deal);
    if (!ranges[index].empty()) changed.push_back(static_cast<std::int32_t>(index));
  }
  for (Shard& shard : plan.shards) {
    if (!std::binary_search(changed.begin(), changed.end(), shard.table)) continue;
    const auto& own = ranges[static_cast<std::size_t>(shard.table)];
    std::tie(shard.row_begin, shard.row_end) = own.at({shard.row_begin, shard.row_end});
  }
  return changed;
}

}  // namespace neuroshard::io
