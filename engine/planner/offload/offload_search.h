#pragma once

#include <cstdint>
#include <functional>

#include "engine/core/status.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/cost_models.h"
#include "search/algorithms.h"

namespace neuroshard {

/// What to place where devices and hosts hold tables. All outlives the search; the cost models know
/// host memory (Capabilities), the cluster's hosts have some.
struct OffloadProblem {
  const search::Problem& problem;
  const CostModels& models;
};

/// A plan with kernels of its own, by an algorithm that knows nothing of kernels. Which tables
/// hosts hold, and how large their caches are, is chosen first, as if all devices were one, for
/// some shares of their memory; each choice is tried with a quick search, and the algorithm is run
/// on the best; what memory a plan leaves on a device goes to the caches there. From the best plans
/// of `refine`, a walk goes on over places and kernels together. Tries get half of the evaluations,
/// the run and the walk share the others. Plans keep to the hosts' memory: where one has too much,
/// tables are kept to one host each. Errors: kInfeasible, with what it takes, and those of the
/// algorithm. The lower bound is offload_lower_bound().
Result<search::SearchResult> search_offloaded(const OffloadProblem& problem,
                                              CostEvaluator& evaluator,
                                              const search::Algorithm& algorithm,
                                              const search::SearchOptions& options);

}  // namespace neuroshard
