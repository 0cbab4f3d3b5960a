#include "engine/planner/offload/divisions.h"

#include <array>

#include "search/piece_sizes.h"

namespace neuroshard {
namespace {

/// As many parts as wide tables are worth splitting into.
constexpr std::array kColumnParts{2, 3, 4, 6, 8, 16};

/// In so many columns each, the last in what is left; empty where that is not allowed.
TableDivision columns(const search::TableSpace& own, std::int32_t index, std::int32_t parts) {
  const Table& table = *own.table;
  const AllowedSharding& allowed = own.sharding;
  const std::int32_t each =
      (table.dim + parts * kLeastColumns - 1) / (parts * kLeastColumns) * kLeastColumns;
  const std::int32_t count = table.dim / each;
  const std::int32_t rest = table.dim % each;
  const bool equal = rest == 0 || table.pooled;
  if (count + (rest > 0 ? 1 : 0) != parts || !equal || !allowed.allows_columns(each) ||
      (rest > 0 && !allowed.allows_columns(rest))) {
    return {};
  }
  TableDivision division{{{index, table.rows, each}, count}};
  if (rest > 0) division.push_back({{index, table.rows, rest}, 1});
  return division;
}

/// Rows in blocks of so many, the last of what is left.
TableDivision blocks(const Table& table, std::int32_t index, std::int64_t block,
                     std::int32_t devices) {
  const std::int64_t last = table.rows - block * (devices - 1);
  return {{{index, block, table.dim, devices}, devices - 1},
          {{index, last, table.dim, devices}, 1}};
}

}  // namespace

Divided divided_in(const TableDivision& division, std::int64_t rows) {
  const Pieces& first = division.front();
  if (first.shape.rows < rows) return Divided::kFreely;
  return division.size() == 1 && first.count == 1 ? Divided::kNot : Divided::kByColumns;
}

std::vector<TableDivision> likely_divisions(const search::TableSpace& own, std::int32_t index,
                                            std::int32_t devices, const DivisionRules& rules) {
  const Table& table = *own.table;
  std::vector<TableDivision> divisions;
  if (devices > 1 && rules.columns) {
    for (const std::int32_t parts : kColumnParts) {
      TableDivision division = columns(own, index, parts);
      if (!division.empty()) divisions.push_back(std::move(division));
    }
  }
  if (const std::int64_t block = search::even_block(own, rules.rows.blocks); block > 0) {
    divisions.push_back(blocks(table, index, block, rules.rows.blocks));
  }
  if (const std::int64_t block = search::even_block_of_host(own, rules.rows.host); block > 0) {
    divisions.push_back(blocks(table, index, block, rules.rows.host));
  }
  if (own.sharding.whole || divisions.empty()) {
    divisions.insert(divisions.begin(), {{{index, table.rows, table.dim}, 1}});
  }
  return divisions;
}

}  // namespace neuroshard
