#pragma once

#include <chrono>

#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/stages.h"
#include "search/row_shapes.h"

namespace neuroshard::search {

/// One stage of a search in equal blocks, from a plan like a first one in any pieces. That there is
/// none in any pieces of the usual sizes proves nothing of thirds. REQUIRES has_equal_blocks(), and
/// their catalog.
Result<SearchResult> search_equal_blocks(const Problem& problem, PlanEvaluator& evaluator,
                                         const ShapeCatalog& blocks, const RowShapes& rows,
                                         Stage& stage, std::chrono::steady_clock::time_point began);

}  // namespace neuroshard::search
