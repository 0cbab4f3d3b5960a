#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/core/plan.h"
#include "search/problem.h"
#include "search/refine/start_plan.h"
#include "search/row_shapes.h"

// How finely tables that are not pooled are cut: one number for all of them, as their pieces have
// to be alike, and so a property of the space that a search is in and not a step that it takes.

namespace neuroshard::search {

/// The space with its tables that are not pooled in so many equal pieces, as far as they may be and
/// that is not decided yet.
SearchSpace with_sequence_parts(SearchSpace space, std::int32_t parts);
Problem with_sequence_parts(const Problem& problem, std::int32_t parts);

/// In how many pieces a plan has its tables that are not pooled, of several numbers the largest;
/// halves where all are whole.
std::int32_t sequence_parts_of(const Plan& plan, const SearchSpace& space);

/// The problem with them in the most pieces that are tried for its devices.
Problem with_finest_sequences(const Problem& problem);

/// The cheapest of the fast plans with tables that are not pooled in quarters, in eighths, and so
/// on, if that is cheaper than `cost`; nothing where no such table may be cut so, or the space has
/// it decided. Takes a share of the time, counted from `began`, or of the budget; what it takes is
/// added to `evaluations`.
std::optional<StartPlan> finer_sequences(const Problem& problem, PlanEvaluator& evaluator,
                                         const RowShapes& rows, const SearchOptions& options,
                                         std::chrono::steady_clock::time_point began, double cost,
                                         std::int64_t& evaluations);

}  // namespace neuroshard::search
