#pragma once

#include <chrono>

#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/first_plan.h"
#include "search/refine/stages.h"
#include "search/row_shapes.h"

// From a first plan to the result of a stage. Its time limit counts from `began`, and the first
// plan's evaluations are all of the search so far.

namespace neuroshard::search {

/// The start as it is.
SearchResult result_of(FirstPlan start);

/// The start, improved by walks in pieces of the catalog, where that is complete and has those;
/// with a lower bound where there is time for one.
SearchResult walked(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                    const Stage& stage, std::chrono::steady_clock::time_point began,
                    FirstPlan start);

/// The same in as many widths of columns as there is time for. `catalog`: of the problem.
SearchResult walked_in_widths(const Problem& problem, PlanEvaluator& evaluator,
                              const ShapeCatalog& catalog, const RowShapes& rows,
                              const Stage& stage, std::chrono::steady_clock::time_point began,
                              FirstPlan start);

}  // namespace neuroshard::search
