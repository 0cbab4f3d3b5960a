#pragma once

#include <cstddef>

#include "search/local/shape_catalog.h"
#include "search/plan_evaluator.h"
#include "search/search_space.h"

namespace neuroshard::search {

/// The space with the columns of the costliest tables in pieces of any width, of as many tables as
/// need no more than `most_pieces` sizes together. REQUIRES a catalog of the space.
SearchSpace with_any_widths(SearchSpace space, const PlanEvaluator& evaluator,
                            const ShapeCatalog& catalog, std::size_t most_pieces);

}  // namespace neuroshard::search
