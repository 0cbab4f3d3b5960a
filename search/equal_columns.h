#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "search/row_shapes.h"
#include "search/search_space.h"

// Columns in blocks of one width, each on a device of its own, for trainers that are told the
// number of a table's blocks alone.

namespace neuroshard::search {

/// In how many such blocks the table may be on that many devices, as far as its sharding allows:
/// ascending, 1 first where it may be whole on one. Tables that are not pooled: in two at most.
std::vector<std::int32_t> equal_parts(const TableSpace& own, std::int32_t devices);

/// The space with all tables in equal blocks, on as many devices as they may be
/// (TableSpace::most_blocks). Only tables that may not be, nor be divided as `rows` say, have their
/// columns in any pieces still.
SearchSpace with_equal_blocks(SearchSpace space, std::int32_t devices, const RowShapes& rows);

bool has_equal_blocks(const SearchSpace& space);

/// The space with columns in any pieces again; tables that are not pooled in halves.
SearchSpace with_any_blocks(SearchSpace space);

/// A plan whose tables have one block on a device, all equally wide, and of their rows all or those
/// of a modulo (row_blocks.h), one after the other on devices in order.
struct EqualColumnsPlan {
  Plan plan;
  std::vector<std::int32_t> unequal;  ///< tables that have not, in order: their shards are missing
};

/// The plan, each table's columns laid out anew so that what a device has of them is one block, and
/// even blocks of rows as those of a modulo. Unequal are tables whose blocks would not be equally
/// wide, have other rows, or on other devices, or would be a whole table that may not be whole.
/// REQUIRES a valid plan.
EqualColumnsPlan with_equal_columns(const Workload& workload, const Plan& plan);

/// The same, but that tables which the space has in no equal blocks stay as they are; nothing where
/// others have none.
std::optional<Plan> laid_in_blocks(const SearchSpace& space, const Workload& workload,
                                   const Plan& plan);

}  // namespace neuroshard::search
