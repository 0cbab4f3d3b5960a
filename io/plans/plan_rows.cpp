#include "io/plans/plan_rows.h"

#include <algorithm>
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

/// What each row range of a table that had `before` rows becomes when it has `now`; empty where
/// they are not dealt out so, or as many would leave some without rows.
std::map<Rows, Rows> fitted(const std::map<Rows, Rows>& ranges, std::int64_t before,
                            std::int64_t now, RowDeal deal) {
  const auto count = static_cast<std::int32_t>(ranges.size());
  std::map<Rows, Rows> made;
  std::int32_t place = 0;
  for (const auto& [rows, same] : ranges) {
    const RowRange next = dealt_rows(deal, now, count, place);
    if (dealt_rows(deal, before, count, place) != RowRange{rows.first, rows.second}) return {};
    if (next.begin >= next.end) return {};
    made[rows] = {next.begin, next.end};
    ++place;
  }
  return made;
}

}  // namespace

std::vector<std::int32_t> fit_rows(const Workload& workload, Plan& plan, RowDeal deal) {
  std::vector<std::map<Rows, Rows>> ranges(workload.tables.size());
  for (const Shard& shard : plan.shards) {
    if (shard.table < 0 || shard.table >= std::ssize(ranges)) continue;
    const Rows rows{shard.row_begin, shard.row_end};
    ranges[static_cast<std::size_t>(shard.table)].emplace(rows, rows);
  }
  const RowDeal other = deal == RowDeal::kEven ? RowDeal::kModulo : RowDeal::kEven;
  std::vector<std::int32_t> changed;
  for (std::size_t index = 0; index < ranges.size(); ++index) {
    if (ranges[index].empty()) continue;
    std::int64_t before = 0;
    for (const auto& [rows, same] : ranges[index]) before = std::max(before, rows.second);
    const std::int64_t now = workload.tables[index].rows;
    if (before == now || before < 1 || before > kMostRows) continue;
    const std::map<Rows, Rows> then = std::move(ranges[index]);
    ranges[index] = fitted(then, before, now, deal);
    if (ranges[index].empty()) ranges[index] = fitted(then, before, now, other);
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
