#pragma once

#include <cstdint>
#include <optional>

#include "search/local/shape_catalog.h"
#include "search/problem.h"
#include "search/refine/fast_plan.h"

namespace neuroshard::search {

/// The best plan of those that simpler algorithms find.
struct StartPlan {
  Plan plan;        ///< in canonical order
  double cost = 0;  ///< by plan_cost()
  std::int64_t evaluations = 0;
  bool stopped_early = false;
};

/// Runs all baselines and the paper's search and takes the cheapest plan, the first of equals. The
/// paper's search is cut down by levels of its beam when tables and devices are many (10,000 on
/// 1,024: no splits but those that memory asks for); which levels depends on the sizes, on
/// options.evaluations and on `effort` alone: 1 for about 0.4 s at most. When none of them finds a
/// plan, plan_by_memory() may, for kFirstPlanSeconds at least where row shards are no way out.
/// Errors: the paper's search's when that finds none either; kCancelled when it was stopped before.
Result<StartPlan> best_start(const Problem& problem, PlanEvaluator& evaluator,
                             const SearchOptions& options, double effort = 1);

/// The fast plan as such a plan.
StartPlan start_of(const FastPlan& fast, const Problem& problem, PlanEvaluator& evaluator,
                   const ShapeCatalog& catalog);

/// Whether best_start() with that effort has the paper's search split any table.
bool effort_splits(const Problem& problem, double effort);

/// Whether the baselines take less than a millisecond or so: then they run whatever the time.
bool baselines_take_no_time(const Problem& problem);

/// `best`, or the cheapest plan of all baselines but the paper's search if that is cheaper.
void keep_baselines(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
                    std::optional<StartPlan>& best);

/// The cheapest plan of the greedy baselines alone; best_start() when none of them finds one.
Result<StartPlan> best_baseline(const Problem& problem, PlanEvaluator& evaluator,
                                const SearchOptions& options);

}  // namespace neuroshard::search
