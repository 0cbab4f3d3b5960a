#pragma once

#include "engine/core/status.h"
#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/first_plan.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// What refine begins with where memory leaves no plan with whole rows. Tables that no columns make
/// fit go over hosts, over all devices, or are halved by rows, whichever of those that `rows` allow
/// is cheaper, and the rest is placed by load (fast_plan()). Where memory is too tight for that,
/// plan_by_memory_with_rows() says which tables have to go by rows, and has at least a plan:
/// packing is all that can be done then, and goes on for kFirstPlanSeconds at least.
/// options.time_limit_s: the time left. Errors: kCancelled when it was stopped before a first plan;
/// kInfeasible, with a memory that would do, or else `why_not_whole`, if that is memory.
Result<FirstPlan> row_start(const Problem& problem, PlanEvaluator& evaluator,
                            const ShapeCatalog& catalog, const RowShapes& rows,
                            const SearchOptions& options, const Status& why_not_whole);

/// Whether row_start() may have a plan where one of whole rows is refused: rows may be split, or
/// tables may only be on every device, or fit no other way.
bool may_start_in_rows(const Problem& problem, const RowShapes& rows);

/// `why_not`, a kInfeasible of `options`, and the first wider RowSplits, or data-parallel tables,
/// with which packing finds a plan within a second, if one does.
Status with_wider_options(const Problem& problem, const SearchOptions& options,
                          const Status& why_not);

}  // namespace neuroshard::search
