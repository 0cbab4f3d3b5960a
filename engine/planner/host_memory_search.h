#pragma once

#include "engine/core/status.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/cost_models.h"
#include "search/algorithms.h"

namespace neuroshard {

/// What may be in the memory of the cluster's hosts, under cost models that know what that costs.
struct HostMemoryProblem {
  const search::Problem& problem;
  CostEvaluator& evaluator;  ///< of the workload, under `models`
  const CostModels& models;
};

/// The plan of search_on_devices() where there is one, else one with tables in host memory
/// (search_offloaded()). Of both the cheaper where a table may not be fused, so that on devices it
/// could only be on every one, and, with `refine`, where tables take more than half of the devices'
/// memory: each search gets half of the time or evaluations then, of each of ends_of_cycles().
/// `refine` also takes what a baseline finds for host memory that is cheaper, where tables are few
/// and evaluations are left for it. Errors: as the searches.
Result<search::SearchResult> search_with_host_memory(const HostMemoryProblem& problem,
                                                     const search::Algorithm& algorithm,
                                                     const search::SearchOptions& options);

}  // namespace neuroshard
