#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "search/local/local_plan.h"
#include "search/local/shape_catalog.h"

namespace neuroshard::search {

/// The plan's shards as pieces; nothing when a shard has no entry in the catalog (every device,
/// another width, rows that it does not know).
std::vector<Placed> pieces_of(const Plan& plan, const Workload& workload,
                              const ShapeCatalog& catalog);

/// The assignment as shards in canonical order, each table's columns or rows given out in order of
/// the pieces' numbers, but pieces of no multiple of 4 columns last; even blocks' rows in order of
/// the devices.
Plan plan_of(const Assignment& assignment, const Workload& workload, const ShapeCatalog& catalog,
             std::int32_t devices);

}  // namespace neuroshard::search
