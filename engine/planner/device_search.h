#pragma once

#include "engine/core/status.h"
#include "search/algorithms.h"
#include "search/plan_evaluator.h"
#include "search/problem.h"

namespace neuroshard {

/// Whether no table has to be in host memory.
bool all_may_be_fused(const Workload& workload);

/// What the algorithm finds with all tables on devices: those whose kernels are others, on every
/// one. Where the space has tables in equal blocks, the plan is laid out in such, or put in them
/// where the algorithm knows nothing of those; as it is where none fit. `evaluator` is of the
/// workload. Errors: the algorithm's; kInfeasible also for a table that may not be fused, where
/// every device may not hold it.
Result<search::SearchResult> search_on_devices(const search::Problem& problem,
                                               search::PlanEvaluator& evaluator,
                                               const search::Algorithm& algorithm,
                                               const search::SearchOptions& options);

}  // namespace neuroshard
