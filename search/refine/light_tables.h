#pragma once

#include <optional>

#include "search/problem.h"
#include "search/row_shapes.h"

namespace neuroshard::search {

/// The problem with fewer tables that may be divided, where a search has not the time to learn what
/// the pieces of all tables cost: the costliest may, and those that take much of a device's memory;
/// the others stay whole, as far as they may. Nothing where there is time for all. Interns all
/// tables. What is left out counts by `options` alone, so it is the same on every machine.
std::optional<Problem> with_light_tables_whole(const Problem& problem, PlanEvaluator& evaluator,
                                               const RowShapes& rows, const SearchOptions& options);

}  // namespace neuroshard::search
