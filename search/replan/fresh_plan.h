#pragma once

#include <cstdint>
#include <optional>

#include "engine/core/move_limit.h"
#include "engine/core/plan.h"
#include "search/problem.h"
#include "search/replan/host_loads.h"

namespace neuroshard::search {

/// A plan from nothing, brought_near() one to go on from, `now`: whatever it moves, it leads to
/// where walks from `now` would come over dearer plans alone, or, as tables whose rows are divided
/// in another way, not at all. `refine` makes it within `options`, as if tables that have to stay
/// as they are had one row, in the memory that these leave on the fullest device. Those are tables
/// with row shards or replicas that are in host memory, may be neither whole nor in columns, or for
/// which `options` have no row shards; and all but whole ones where only those move. Adds the plans
/// that it puts a cost on to `evaluations`. Nothing where there is none.
std::optional<Plan> fresh_plan(const Problem& problem, PlanEvaluator& evaluator, const Plan& now,
                               const MoveLimit& limit, const HostLoads& hosts,
                               const SearchOptions& options, std::int64_t& evaluations);

}  // namespace neuroshard::search
