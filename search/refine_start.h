#pragma once

#include <cstdint>

#include "search/sharder.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// The best plan of those that simpler algorithms find.
struct StartPlan {
  Plan plan;        ///< in canonical order
  double cost = 0;  ///< by plan_cost()
  std::int64_t evaluations = 0;
  bool stopped_early = false;
};

/// What a plan in canonical order costs, its shards placed in that order: what a plan file says.
/// Interns shapes. REQUIRES a valid plan without replicated tables.
double plan_cost(const Plan& plan, PlanEvaluator& evaluator);

/// Runs all baselines and the paper's search and takes the cheapest plan, the first of equals. The
/// paper's search is cut down by levels of its beam when tables and devices are many (10,000 on
/// 1,024: no splits but those that memory asks for); which levels depends on the sizes and on
/// `effort` alone: 1 for about 0.4 s at most. When none of them finds a plan, plan_by_memory() may.
/// Errors: the paper's search's when that finds none either; kCancelled when it was stopped before.
Result<StartPlan> best_start(const Problem& problem, PlanEvaluator& evaluator,
                             const SearchOptions& options, double effort = 1);

/// Whether `effort` is enough for any of the paper's search but placing the whole tables.
bool effort_splits(const Problem& problem, double effort);

/// The cheapest plan of the greedy baselines alone; best_start() when none of them finds one.
Result<StartPlan> best_baseline(const Problem& problem, PlanEvaluator& evaluator,
                                const SearchOptions& options);

}  // namespace neuroshard::search
