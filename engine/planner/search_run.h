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

/// Whether run_search() gives tables to every device of the only one, though searches have them
/// whole there, whatever they allow: those that may be nothing else, where they are asked for. A
/// trainer steps such tables by another optimizer. What searches know of costs is not of that.
bool replicates_on_one(const Workload& workload, const Cluster& cluster,
                       const search::SearchOptions& options);

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
