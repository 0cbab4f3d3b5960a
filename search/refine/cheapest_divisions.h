#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/local/shape_catalog.h"
#include "search/plan_evaluator.h"
#include "search/refine/divider.h"

namespace neuroshard::search {

/// What there is to choose from where costs add up; the first of equals counts.
std::span<const Division> adding_divisions();

/// Milliseconds that each of `devices` would have if all had the same and every table were divided
/// in the way that costs the devices the least together, whatever its pieces weigh.
double least_balanced_load(std::int32_t devices, const PlanEvaluator& evaluator,
                           const ShapeCatalog& catalog);

/// What cheapest_divisions() goes by.
struct DivisionRule {
  double most = 0;        ///< milliseconds: heavier pieces are halved
  double everywhere = 1;  ///< times its cost, a division that all devices have a part of
  double heavy = 0;       ///< columns that cannot be halved are too heavy above this and `most`
};

/// The divisions that cost the devices the least together, table by table: by columns, in blocks
/// over a host or over all devices, whole on every device, as far as the catalog has them. Where
/// devices have room for heavy pieces, load on all of them is worth more than it costs.
std::vector<Division> cheapest_divisions(const DivisionRule& rule, const PlanEvaluator& evaluator,
                                         const ShapeCatalog& catalog);

}  // namespace neuroshard::search
