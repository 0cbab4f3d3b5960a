#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/first_plan.h"
#include "search/row_shapes.h"
#include "search/stop_check.h"

// First plans whose tables have columns in equal blocks (equal_columns.h).

namespace neuroshard::search {

/// The cheapest of some quick plans in equal blocks, after a descent: with blocks about as wide as
/// the widest of each table in plans of any columns, if there are any to be `like`, with the
/// fewest blocks that take no more than a share of a device's memory, for several shares, and
/// fast_start(). Nothing
/// where blocks of no such number find places, each on a device of its own. REQUIRES a complete
/// catalog of the problem.
std::optional<FirstPlan> equal_start(const Problem& problem, PlanEvaluator& evaluator,
                                     const ShapeCatalog& blocks, std::span<const Plan> like,
                                     const StopCheck& stop, std::int64_t budget,
                                     std::uint64_t seed);

/// A plan of any columns in equal blocks, for algorithms that know nothing of those: the plan
/// itself where it happens to be, or else equal_start() like it. Adds to `evaluations`. REQUIRES
/// has_equal_blocks().
std::optional<Plan> in_equal_blocks(const Problem& problem, PlanEvaluator& evaluator,
                                    const SearchOptions& options, const Plan& plan,
                                    std::int64_t& evaluations);

}  // namespace neuroshard::search
