#pragma once

#include <optional>
#include <span>

#include "engine/core/hot_rows.h"
#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/row_shapes.h"

// Two properties of a plan are none that walks change, but of the space that they are in: which
// tables have hot rows, as rows on every device pay together, and in how many pieces tables are
// that are not pooled.

namespace neuroshard::search {

struct WalkSpace {
  Problem problem;  ///< with the memory that hot rows leave
  ShapeCatalog catalog;
};

/// The problem with those hot rows beside its shards.
Problem with_hot_rows(Problem problem, std::span<const HotRows> hot);

/// The part of the problem's space that walks from the plan are in, where that is not all of it.
/// Interns shapes.
std::optional<WalkSpace> space_of_walks(const Plan& plan, const Problem& problem,
                                        PlanEvaluator& evaluator, const RowShapes& rows,
                                        const SearchOptions& options);

}  // namespace neuroshard::search
