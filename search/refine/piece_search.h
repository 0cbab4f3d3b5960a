#pragma once

#include <chrono>

#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/first_plan.h"
#include "search/refine/stages.h"
#include "search/row_shapes.h"

// One stage of a search: a first plan, and what walks make of it. Time limits count from `began`.

namespace neuroshard::search {

/// Of a problem that no shortage is known of, in pieces of its space, which the catalog has.
Result<SearchResult> search_pieces(const Problem& problem, PlanEvaluator& evaluator,
                                   const ShapeCatalog& catalog, const RowShapes& rows, Stage& stage,
                                   std::chrono::steady_clock::time_point began);

/// Whether so little time is left after the first plan that walks would not get beyond their start.
bool too_late_to_walk(const SearchOptions& options, std::chrono::steady_clock::time_point began,
                      const FirstPlan& first);

/// What a stage of walks alone begins with. REQUIRES an earlier one.
FirstPlan start_of_walks(const Stage& stage);

/// The same of a stage with a first plan: the cheaper of that and the plan of earlier ones, if
/// there is one. The other one is a rival, and all rivals are kept for the stage after. (DLRM-DCNv2
/// on 8 devices that it fills to 98 %, TorchRec's formula, 50,000 evaluations: 4.01 ms
/// without, 3.99 so.)
FirstPlan start_of_walks(Stage& stage, FirstPlan first);

/// A first plan, or where there is none for want of memory or time, one with rows split, if those
/// may be.
Result<FirstPlan> or_in_rows(Result<FirstPlan> first, const Problem& problem,
                             PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                             const SearchOptions& options, const RowShapes& rows,
                             std::chrono::steady_clock::time_point began);

}  // namespace neuroshard::search
