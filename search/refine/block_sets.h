#pragma once

#include <cstdint>
#include <vector>

#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/fast_plan.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// Plans for little memory where costs add up, each with another set of large tables over all
/// devices in even row blocks, the rest placed by load or packed by memory; those first whose costs
/// are estimated to be the least.
///
/// Two or three large tables in blocks may free the devices that their columns would fill, though
/// each alone makes the plan dearer: walks do not get there step by step. So all sets of the
/// largest tables are compared by what a device costs in the mean: its blocks, and the cheapest
/// columns of all other tables that fit beside the blocks, in memory and in cost. Small tables are
/// in blocks where that is cheaper. (18 tables that fill 95 % of 12 devices: the estimate is 1.339
/// and 1.408 ms of two sets whose best plans CP-SAT knows, 1.370 and 1.408.)
///
/// Only sets whose estimate is below `most_cost`, milliseconds. Ends when `stop` says so, or after
/// `budget` plans; nothing for so many tables or columns that estimates alone would take long.
/// REQUIRES evaluator.additive().
std::vector<FastPlan> plans_in_block_sets(const Problem& problem, PlanEvaluator& evaluator,
                                          const ShapeCatalog& catalog, const StopCheck& stop,
                                          double most_cost, std::int64_t budget);

}  // namespace neuroshard::search
