#pragma once

#include <functional>

#include "engine/core/held_cells.h"
#include "search/replan/cell_plan.h"

namespace neuroshard::search {

/// Sends pieces back to the device that holds most of their cells, those with the most bytes to
/// bring first, and joins neighbours on one device, each where the plan gets no dearer by it: walks
/// move what does not help, as long as the limit lets them. What was done so far when `stop` says
/// so.
CellPlan tidy(const CellPlan& start, const HeldCells& held, const Problem& problem,
              const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
              const std::function<bool()>& stop);

}  // namespace neuroshard::search
