#pragma once

#include <cstdint>

#include "engine/core/move_limit.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "search/problem.h"

namespace neuroshard::search {

/// A plan to start from within a limit, where feasible_start() finds no room for what devices have
/// too much of: a fresh_plan() with one block of a table's columns on a device, as far back to
/// `now` as the limit asks (partial_plan()). `options` limit the search. Adds the plans that it
/// puts a cost on to `evaluations`. Errors: `why_not`, or, where such a plan moves more than may
/// move, kInfeasible with the bytes that would do; kCancelled. REQUIRES a plan in canonical order
/// that is valid but for tables that it lacks.
Result<Plan> fresh_start(const Problem& problem, PlanEvaluator& evaluator,
                         const SearchOptions& options, const Plan& now, const MoveLimit& limit,
                         const Status& why_not, std::int64_t& evaluations);

/// kInfeasible: the plan that runs does not fit, and so many bytes would have to move.
Status too_far(const Problem& problem, std::int64_t bytes);

}  // namespace neuroshard::search
