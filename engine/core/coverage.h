#pragma once

#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// kInvalidInput, beginning with `where`, unless every cell of the table is in exactly one of its
/// shards: names a rectangle that overlaps another, or the first cell in none. Sweeps them by row:
/// no two may share a cell, and together they must have as many cells as the table. Cost: O(n log
/// n). REQUIRES shards inside the table.
Status check_coverage(const Table& table, const std::string& where,
                      std::vector<const Shard*> shards);

}  // namespace neuroshard
