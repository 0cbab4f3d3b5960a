#pragma once

#include "engine/core/held_cells.h"
#include "engine/core/move_limit.h"
#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/replan/host_loads.h"

namespace neuroshard::search {

/// A plan to go on from, in canonical order: one that runs, or nearly, and what searches near it go
/// by. Nothing here is owned.
struct RunningPlan {
  const Problem& problem;
  PlanEvaluator& evaluator;
  const ShapeCatalog& catalog;  ///< ShapeCatalog::around() the plan and others
  const Plan& plan;
  const HeldCells& held;  ///< by the plan that runs
  const MoveLimit& limit;
  const HostLoads& hosts;  ///< of no plan yet
};

}  // namespace neuroshard::search
