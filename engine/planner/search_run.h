#pragma once

#include <cstdint>
#include <functional>

#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/cost_models.h"
#include "engine/planner/plan_options.h"
#include "search/problem.h"

namespace neuroshard {

/// Those of a search on the cluster, all but the threads; row shards and hosts as far as the models
/// know them.
search::SearchOptions search_options(const PlanOptions& options, const CostModels& models,
                                     const Cluster& cluster);

/// kInvalidInput for a table that names devices which the cluster does not have.
Status check_devices(const Workload& workload, const Cluster& cluster);

using Search = std::function<Result<search::SearchResult>(const search::Problem&, CostEvaluator&,
                                                          const search::SearchOptions&)>;

/// What a search of the space finds, with its evaluator and threads, and what the plan costs;
/// everything else is done before and after `seconds`. Errors: bad options, tables and clusters,
/// and the search's.
Result<PlanResult> run_search(const search::Problem& problem, const CostModels& models,
                              const PlanOptions& options, const Search& run, double& seconds);

}  // namespace neuroshard
