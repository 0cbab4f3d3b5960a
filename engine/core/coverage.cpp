#include "engine/core/coverage.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace neuroshard {
namespace {

/// Column intervals alive at the current row of a sweep: begin -> end. Never overlapping.
class LiveColumns {
 public:
  bool insert(std::int32_t begin, std::int32_t end) {
    const auto next = intervals_.lower_bound(begin);
    if (next != intervals_.end() && next->first < end) return false;
    if (next != intervals_.begin() && std::prev(next)->second > begin) return false;
    intervals_.emplace_hint(next, begin, end);
    width_ += end - begin;
    return true;
  }
  void erase(std::int32_t begin) {
    const auto interval = intervals_.find(begin);
    width_ -= interval->second - begin;
    intervals_.erase(interval);
  }
  [[nodiscard]] std::int32_t width() const { return width_; }
  /// The first column in no interval.
  [[nodiscard]] std::int32_t first_gap() const {
    std::int32_t column = 0;
    for (const auto& [begin, end] : intervals_) {
      if (begin != column) break;
      column = end;
    }
    return column;
  }

 private:
  std::map<std::int32_t, std::int32_t> intervals_;
  std::int32_t width_ = 0;
};

/// "row 5, column 0": the first cell of the table in none of its shards, by row. REQUIRES disjoint
/// shards, sorted by first and by last row, that leave a cell out.
std::string first_uncovered(const Table& table, const std::vector<const Shard*>& beginning,
                            const std::vector<const Shard*>& ending) {
  LiveColumns live;
  std::size_t begun = 0;
  std::size_t ended = 0;
  std::int64_t row = 0;
  while (true) {
    for (; ended < ending.size() && ending[ended]->row_end <= row; ++ended) {
      live.erase(ending[ended]->column_begin);
    }
    for (; begun < beginning.size() && beginning[begun]->row_begin <= row; ++begun) {
      live.insert(beginning[begun]->column_begin, beginning[begun]->column_end);
    }
    if (live.width() < table.dim) break;
    row = ending[ended]->row_end;  // no cell is left out before a shard ends
  }
  return "row " + std::to_string(row) + ", column " + std::to_string(live.first_gap());
}

/// ", as if it had 9 rows and 8 columns, not 10 and 8" where the shards have all cells of a smaller
/// table, as those of a plan that was made before it grew, else ", not row 5, column 0". REQUIRES
/// what first_uncovered() does, of so many cells.
std::string what_is_left_out(const Table& table, std::int64_t cells,
                             const std::vector<const Shard*>& beginning,
                             const std::vector<const Shard*>& ending) {
  std::int64_t rows = 0;
  std::int32_t columns = 0;
  for (const Shard* shard : beginning) {
    rows = std::max(rows, shard->row_end);
    columns = std::max(columns, shard->column_end);
  }
  if (cells == 0 || cells != rows * columns) {
    return ", not " + first_uncovered(table, beginning, ending);
  }
  return ", as if it had " + std::to_string(rows) + " rows and " + std::to_string(columns) +
         " columns, not " + std::to_string(table.rows) + " and " + std::to_string(table.dim);
}

}  // namespace

Status check_coverage(const Table& table, const std::string& where,
                      std::vector<const Shard*> shards) {
  std::vector<const Shard*> ending = shards;
  std::sort(shards.begin(), shards.end(),
            [](const Shard* a, const Shard* b) { return a->row_begin < b->row_begin; });
  std::sort(ending.begin(), ending.end(),
            [](const Shard* a, const Shard* b) { return a->row_end < b->row_end; });
  LiveColumns live;
  std::size_t ended = 0;
  std::int64_t cells = 0;  // cannot overflow: disjoint parts of a table below 2^63 bytes
  for (const Shard* shard : shards) {
    for (; ended < ending.size() && ending[ended]->row_end <= shard->row_begin; ++ended) {
      live.erase(ending[ended]->column_begin);
    }
    if (!live.insert(shard->column_begin, shard->column_end)) {
      return invalid_input(where + ": " + describe_shard(*shard) +
                           " overlaps another shard, expected every cell in exactly one shard");
    }
    cells += shard->rows() * shard->dim();
  }
  // Disjoint and inside the table: as many cells as it has are all of them.
  const std::int64_t expected = table.rows * table.dim;
  if (cells == expected) return {};
  return invalid_input(where + ": shards cover " + std::to_string(cells) + " of its " +
                       std::to_string(expected) + " cells" +
                       what_is_left_out(table, cells, shards, ending) +
                       ", expected every cell in exactly one shard");
}

}  // namespace neuroshard
