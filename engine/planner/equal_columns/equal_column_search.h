#pragma once

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "search/algorithms.h"
#include "search/plan_evaluator.h"

namespace neuroshard {

/// What to place where blocks of a table's columns are of one width, each on a device of its own.
/// All outlives the search.
struct EqualColumnsProblem {
  const search::Problem& any;  ///< the same with blocks of any width
  const CostModels& models;
};

/// A plan whose tables are in blocks of equal width, or whose rows are dealt out, by an algorithm
/// that knows nothing of such.
/// With half of the time and evaluations it searches a plan of any columns, which is returned where
/// its blocks happen to be equal. If not, numbers of blocks are taken from that plan, from what
/// devices have memory for, and from those like the best so far; each choice is tried with a quick
/// search in which every block is a table that is not split, and the best is searched further.
/// Where no choice has a plan, the first plan is returned as it is; where there is none of any
/// columns, blocks may fit all the same, thirds for one. `evaluator` is of that workload. Errors:
/// those of the algorithm.
Result<search::SearchResult> search_equal_columns(const EqualColumnsProblem& problem,
                                                  search::PlanEvaluator& evaluator,
                                                  const search::Algorithm& algorithm,
                                                  const search::SearchOptions& options);

}  // namespace neuroshard
