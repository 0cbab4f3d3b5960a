#pragma once

#include <optional>

#include "engine/planner/offload/kernel_costs.h"
#include "search/offload/kernel_choice.h"
#include "search/row_shapes.h"

namespace neuroshard {

/// Milliseconds that no plan costs less than: what the tables cost all devices together, at least,
/// when they keep to both memories in sum, with columns and `rows` split as is cheapest, and with
/// caches of any size from kLeastCache to kMostCache, or that their tables say. Nothing where it
/// would take long. `evaluator` is of the workload; interns shapes.
std::optional<double> offload_lower_bound(const KernelCosts& costs,
                                          search::PlanEvaluator& evaluator,
                                          const search::MemoryLimits& limits,
                                          const search::RowShapes& rows);

}  // namespace neuroshard
