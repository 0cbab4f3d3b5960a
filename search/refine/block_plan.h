#pragma once

#include <cstdint>
#include <optional>

#include "search/refine/fast_plan.h"

namespace neuroshard::search {

/// The cheapest of the fast plans that have the dearest table, the two dearest, and so on, over all
/// devices in even blocks: the dearer a table, the more the device that has to hold it, or a column
/// of it, decides the cost. Ends a few plans after the cheapest, when `stop` says so, or after
/// `most_evaluations` (0: no limit). Nothing where the catalog has no blocks, or none fit.
std::optional<FastPlan> block_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                   const ShapeCatalog& catalog, const StopCheck& stop,
                                   std::int64_t most_evaluations);

}  // namespace neuroshard::search
