#pragma once

#include <span>
#include <vector>

#include "engine/core/plan.h"

// A plan whose shards of a table stand one after another, as canonicalize() leaves them, table by
// table.

namespace neuroshard {

/// The shards of each table that the plan has shards of, in the plan's order. They point into the
/// plan.
std::vector<std::span<const Shard>> shards_by_table(const Plan& plan);

}  // namespace neuroshard
