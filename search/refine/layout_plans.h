#pragma once

#include <chrono>

#include "search/local/shape_catalog.h"
#include "search/plan_evaluator.h"
#include "search/problem.h"
#include "search/refine/first_plan.h"

namespace neuroshard::search {

/// Of few tables, or some dozens where costs add up, memory is tight or hosts add up rows, the
/// first plan or a cheaper one, with plans beside it that cost little more, in which each table is
/// wholly in one of the layouts_of() it, and all pieces are placed anew by load.
///
/// Walks change piece after piece, and hardly ever get a table into another layout while others lie
/// beside it: on the way a device has twice what it should. Nor do they know what halves of rows
/// save that happen to be on all devices; here plans with such have plan_cost(). One
/// table after the other takes the layout that is cheapest beside those of the others, as long as
/// that gains: from the first plan's layouts, from all tables divided alike, and from the best so
/// far with two or three in any others.
///
/// `catalog`: of the problem, complete. Takes a share of the time, counted from `began`, or of the
/// budget, if that is enough to get anywhere; what it takes is among the plan's evaluations. The
/// first plan itself where there are many tables.
FirstPlan with_plans_in_layouts(FirstPlan first, const Problem& problem, PlanEvaluator& evaluator,
                                const ShapeCatalog& catalog, const SearchOptions& options,
                                std::chrono::steady_clock::time_point began);

}  // namespace neuroshard::search
