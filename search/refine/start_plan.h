#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "search/local/shape_catalog.h"
#include "search/refine/fast_plan.h"
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

/// Runs all baselines and the paper's search and takes the cheapest plan, the first of equals. The
/// paper's search is cut down by levels of its beam when tables and devices are many (10,000 on
/// 1,024: no splits but those that memory asks for); which levels depends on the sizes and on
/// `effort` alone: 1 for about 0.4 s at most. When none of them finds a plan, plan_by_memory() may,
/// for kFirstPlanSeconds at least where row shards are no way out.
/// Errors: the paper's search's when that finds none either; kCancelled when it was stopped before.
Result<StartPlan> best_start(const Problem& problem, PlanEvaluator& evaluator,
                             const SearchOptions& options, double effort = 1);

/// The fast plan as such a plan.
StartPlan start_of(const FastPlan& fast, const Problem& problem, PlanEvaluator& evaluator,
                   const ShapeCatalog& catalog);

struct FirstPlan {
  StartPlan plan;
  std::optional<Plan> rival;  ///< a plan of another kind, dearer, that may lead further
  std::string_view skipped;  ///< what there was no time for, in words; lives as long as the program
};

/// What refine begins with: fast_plan(), in less than half of the time where that is long, or what
/// fast_row_plan() or best_start() find if that is cheaper, as far as there is time for them; the
/// baselines run in any case where tables and devices are few. options.time_limit_s counts from
/// `began`. Errors: best_start()'s.
Result<FirstPlan> first_plan(const Problem& problem, PlanEvaluator& evaluator,
                             const ShapeCatalog& catalog, const SearchOptions& options,
                             std::chrono::steady_clock::time_point began);

/// The cheapest plan of the greedy baselines alone; best_start() when none of them finds one.
Result<StartPlan> best_baseline(const Problem& problem, PlanEvaluator& evaluator,
                                const SearchOptions& options);

}  // namespace neuroshard::search
