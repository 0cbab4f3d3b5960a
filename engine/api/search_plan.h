#pragma once

#include <functional>
#include <memory>

#include "engine/api/callback_sink.h"
#include "engine/api/handles.h"
#include "engine/core/cluster.h"
#include "engine/planner/planner.h"

// A search for a caller: from what it finds to the plan that the caller gets.

namespace neuroshard::api {

/// It may give the cluster an exchange format.
using Search = std::function<Result<PlanResult>(const CostModels&, const PlanOptions&, Cluster&)>;

/// What `search` finds by the planner's cost models, with all that plans know of themselves. Its
/// log is told of costs that are guesses and of how the search ended. Errors: those of `search`.
Result<std::unique_ptr<neuroshard_plan>> search_plan(const neuroshard_planner& planner,
                                                     const neuroshard_workload& workload,
                                                     Cluster cluster, PlanOptions options,
                                                     CallbackSink progress, const Search& search);

}  // namespace neuroshard::api
