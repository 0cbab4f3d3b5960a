#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/start_plan.h"
#include "search/row_shapes.h"

namespace neuroshard::search {

/// The cheapest of some fast plans with hot rows, if that is cheaper than `base`: of each table as
/// many as save the most by what a little more of everything takes in `base`, where they save
/// anything, and of the tables all that do so, or those that save the most. Hot rows may take
/// options.hot_memory_bytes of each device. `catalog`: of the problem, complete. Nothing where no
/// table gains. Takes a share of the time, counted from `began`, or of the budget; what it takes is
/// added to `evaluations`. The evaluator holds the hot rows of what is returned.
std::optional<StartPlan> hot_start(const Problem& problem, PlanEvaluator& evaluator,
                                   const ShapeCatalog& catalog, const RowShapes& rows,
                                   const SearchOptions& options,
                                   std::chrono::steady_clock::time_point began,
                                   const StartPlan& base, std::int64_t& evaluations);

}  // namespace neuroshard::search
