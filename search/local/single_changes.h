#pragma once

#include <cstdint>
#include <functional>

#include "search/local/local_plan.h"
#include "search/local/local_walk.h"

namespace neuroshard::search {

/// Changes one table after the other as long as the plan gets cheaper by it: whole, or one of its
/// pieces of columns or the second half of one, on another device; over all devices or those of a
/// host; whole on every device. Walks draw such steps at random, and leave some that help. Tables
/// of the slowest device come first, and the idlest devices alone where there are many. Ends when
/// none helps, after `most` candidates, or when `stop` says so. The start is within the memory
/// limit.
WalkResult with_single_changes(const Assignment& start, const Problem& problem,
                               const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                               std::int64_t most, const std::function<bool()>& stop);

}  // namespace neuroshard::search
