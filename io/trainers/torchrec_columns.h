#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/core/plan.h"

namespace neuroshard::io {

/// The shards of each column block of a table, blocks by first column; empty when the blocks are no
/// grid.
std::vector<std::vector<Shard>> column_blocks(std::span<const Shard> shards);

/// Why TorchRec 1.4 would cut the table's parameters wrongly: it takes all shards of a table on one
/// rank for as wide as the first. "" when they are.
std::string unequal_widths(std::span<const Shard> shards);

/// The plan as TorchRec holds it, in canonical order: where unequal_widths(), the columns that a
/// rank (or a host's ranks) has of the table are side by side, one shard.
Plan torchrec_plan(Plan plan);

}  // namespace neuroshard::io
