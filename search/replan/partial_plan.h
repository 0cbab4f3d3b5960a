#pragma once

#include <functional>
#include <optional>

#include "engine/core/held_cells.h"
#include "search/replan/cell_plan.h"

namespace neuroshard::search {

/// `plan` with some tables as they are in `now`: of the few that most bytes would move of, that one
/// goes back next which makes the plan dearer by the least a byte, and of the plans that this leads
/// to, one after the other, it is the cheapest that moves no more than `limit_bytes`. Nothing where
/// memory leaves no way or sizes are not in the catalog, which is that of `now`; the cheapest so
/// far when `stop` says so. REQUIRES plans in canonical order.
std::optional<CellPlan> partial_plan(const Plan& plan, const Plan& now, const HeldCells& held,
                                     const Problem& problem, const PlanEvaluator& evaluator,
                                     const ShapeCatalog& catalog, std::int64_t limit_bytes,
                                     const std::function<bool()>& stop);

}  // namespace neuroshard::search
