#pragma once

#include <cstdint>
#include <vector>

#include "search/local/shape_catalog.h"
#include "search/plan_evaluator.h"
#include "search/refine/divider.h"

namespace neuroshard::search {

/// Milliseconds that each of `devices` would have if all had the same and every table were divided
/// in the way that costs the devices the least together, whatever its pieces weigh.
double cheapest_level(std::int32_t devices, const PlanEvaluator& evaluator,
                      const ShapeCatalog& catalog);

/// The divisions that cost the devices the least together, table by table, when pieces of more than
/// `most` milliseconds are halved: by columns, in blocks over a host or over all devices.
std::vector<Division> cheapest_divisions(double most, const PlanEvaluator& evaluator,
                                         const ShapeCatalog& catalog);

}  // namespace neuroshard::search
