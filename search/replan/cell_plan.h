#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/plan.h"
#include "search/local/local_plan.h"
#include "search/local/shape_catalog.h"

namespace neuroshard::search {

/// A plan in the making whose pieces are known cells of their tables: `cells[k]` is piece k of the
/// assignment, on its device.
struct CellPlan {
  Assignment pieces;
  std::vector<Shard> cells;  ///< of a replica, as many as devices, each of one of them
};

/// A plan in canonical order; pieces of sizes that the catalog has not get kNoEntry.
CellPlan cells_of(const Plan& plan, const ShapeCatalog& catalog);

/// The pieces as a plan in canonical order.
Plan plan_of(const CellPlan& plan, const ShapeCatalog& catalog, std::int32_t devices);

}  // namespace neuroshard::search
