#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "search/row_shapes.h"
#include "search/search_space.h"

namespace neuroshard {

/// In which ways searches may divide tables.
struct DivisionRules {
  bool columns = true;
  search::RowShapes rows{};
};

/// Shards of equal shape.
struct Pieces {
  ShardShape shape;
  std::int32_t count = 1;
};

/// One way to divide a table: pieces that together are all of it.
using TableDivision = std::vector<Pieces>;

/// How tables are divided, the coarser the later: in any way, in columns at most, or not.
enum class Divided { kFreely, kByColumns, kNot };

/// How `division` divides its table, which has so many rows.
Divided divided_in(const TableDivision& division, std::int64_t rows);

/// Some ways to divide a fused table, number `index`, over so many devices that searches are likely
/// to take: whole, in equal columns, its rows in even blocks over all devices or those of a host.
/// At least one, the whole table, be it allowed or not.
std::vector<TableDivision> likely_divisions(const search::TableSpace& own, std::int32_t index,
                                            std::int32_t devices, const DivisionRules& rules);

}  // namespace neuroshard
