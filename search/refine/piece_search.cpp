#include "search/refine/piece_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "engine/core/elapsed.h"
#include "engine/core/hot_rows.h"
#include "search/feasibility.h"
#include "search/local/shape_catalog.h"
#include "search/packing/plan_packing.h"
#include "search/packing/what_would_do.h"
#include "search/plan_cost.h"
#include "search/refine/hot_start.h"
#include "search/refine/layout_plans.h"
#include "search/refine/row_start.h"
#include "search/refine/sequence_parts.h"
#include "search/refine/start_plan.h"
#include "search/refine/walk_space.h"
#include "search/refine/walked.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

constexpr double kAnyCost = std::numeric_limits<double>::infinity();

/// A start with hot rows, where that is cheaper.
FirstPlan or_with_hot_rows(FirstPlan start, const Problem& problem, PlanEvaluator& evaluator,
                           const ShapeCatalog& catalog, const RowShapes& rows,
                           const SearchOptions& options,
                           std::chrono::steady_clock::time_point began) {
  std::int64_t evaluations = start.plan.evaluations;
  std::optional<StartPlan> hot =
      hot_start(problem, evaluator, catalog, rows, options, began, start.plan, evaluations);
  if (hot) start = {*std::move(hot), start.skipped, start.seconds};
  start.plan.evaluations = evaluations;
  return start;
}

/// Where no table but those that are not pooled is in the way: a plan of their finest pieces that
/// packing finds, or what it would take for one.
Result<FirstPlan> or_of_finest_sequences(Result<FirstPlan> first, const Problem& problem,
                                         PlanEvaluator& evaluator, const RowShapes& rows,
                                         const SearchOptions& options) {
  if (first.status().code() != StatusCode::kInfeasible) return first;
  const Problem finest = with_finest_sequences(problem);
  if (check_finest_pieces(problem, rows).ok() || !check_finest_pieces(finest, rows).ok()) {
    return first;
  }
  const StopCheck patience(with_patience(options));
  std::optional<Plan> packed = plan_by_memory(finest, patience);
  if (!packed) {
    return options.advise ? what_would_do(finest, rows, patience, no_arrangement(finest))
                          : no_arrangement(finest);
  }
  const double cost = plan_cost(*packed, evaluator);
  return FirstPlan{{*std::move(packed), cost, 1, false}, {}};
}

/// Improved by walks.
SearchResult walked_from(const Problem& problem, PlanEvaluator& evaluator,
                         const ShapeCatalog& catalog, const RowShapes& rows, const Stage& stage,
                         std::chrono::steady_clock::time_point began, FirstPlan start) {
  const std::optional<WalkSpace> own =
      space_of_walks(start.plan.plan, problem, evaluator, rows, stage.limits);
  evaluator.hold(hot_rows(start.plan.plan));
  return walked_in_widths(own ? own->problem : problem, evaluator, own ? own->catalog : catalog,
                          rows, stage, began, std::move(start));
}

/// Improved by walks from both, each in half of what is left: where hot rows save little, walks
/// alone tell whether they pay. (40 sets of 2 to 20 skewed tables on 2 to 64 devices, networks:
/// with walks from `hot` alone plans are 0.0, 0.3 and 0.2 % costlier at 30,000, 100,000 and 300,000
/// evaluations, 0.3 in a second, and 0.5 % cheaper at 1,000; 7 to 11 are dearer than without hot
/// rows, by 7 % at most, instead of 4 to 6.)
SearchResult walked_from_both(FirstPlan hot, FirstPlan cold, const Problem& problem,
                              PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                              const RowShapes& rows, Stage& stage,
                              std::chrono::steady_clock::time_point began) {
  Stage half = stage;
  if (stage.limits.evaluations > 0) {
    half.limits.evaluations = (hot.plan.evaluations + stage.limits.evaluations) / 2;
  }
  if (paced_by_time(stage.limits)) {
    half.limits.time_limit_s = (seconds_since(began) + stage.limits.time_limit_s) / 2;
  }
  cold.plan.evaluations = hot.plan.evaluations;
  const bool earlier_is_hot = stage.earlier != nullptr && !hot_rows(stage.earlier->plan).empty();
  FirstPlan& of_earlier = earlier_is_hot ? hot : cold;
  of_earlier = start_of_walks(stage, std::move(of_earlier));
  SearchResult without =
      walked_from(problem, evaluator, catalog, rows, half, began, std::move(cold));
  hot.plan.evaluations = without.evaluations;
  SearchResult with = walked_from(problem, evaluator, catalog, rows, stage, began, std::move(hot));
  canonicalize(with.plan);
  canonicalize(without.plan);
  if (plan_cost(without.plan, evaluator) < plan_cost(with.plan, evaluator)) {
    with.plan = std::move(without.plan);
  }
  return with;
}

}  // namespace

bool too_late_to_walk(const SearchOptions& options, std::chrono::steady_clock::time_point began,
                      const FirstPlan& first) {
  // They need some plans' time to begin and to end in. (100,000 tables on 4,096 devices, a second
  // by h200_sim: four plans' time was 0.44 s, and walks that began with 0.24 s left ended 0.14 s
  // late.)
  constexpr double kLeastPlans = 4;
  if (StopCheck(options, began).stop()) return true;
  if (!paced_by_time(options) || first.plan.evaluations == 0) return false;
  const double left = options.time_limit_s - seconds_since(began);
  return left < kLeastPlans * first.seconds / static_cast<double>(first.plan.evaluations);
}

FirstPlan start_of_walks(const Stage& stage) { return {*stage.earlier, {}, 0, stage.rivals}; }

FirstPlan start_of_walks(Stage& stage, FirstPlan first) {
  const StartPlan* earlier = stage.earlier;
  first.rivals.insert(first.rivals.begin(), stage.rivals.begin(), stage.rivals.end());
  if (earlier != nullptr && earlier->plan.shards != first.plan.plan.shards) {
    Plan rival = earlier->plan;
    if (earlier->cost < first.plan.cost) {
      std::swap(rival, first.plan.plan);
      first.plan.cost = earlier->cost;
    }
    first.rivals.insert(first.rivals.begin(), std::move(rival));
    first.rivals.resize(std::min(first.rivals.size(), kMostRivals));
  }
  stage.rivals = first.rivals;
  return first;
}

Result<FirstPlan> or_in_rows(Result<FirstPlan> first, const Problem& problem,
                             PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                             const SearchOptions& options, const RowShapes& rows,
                             std::chrono::steady_clock::time_point began) {
  const StatusCode code = first.status().code();
  const bool none = code == StatusCode::kInfeasible ||
                    (code == StatusCode::kCancelled && !StopCheck(options).cancelled());
  if (!none || !may_start_in_rows(problem, rows)) return first;
  SearchOptions left = options;
  if (options.time_limit_s > 0) {
    left.time_limit_s = std::max(kLeastTimeLimit, options.time_limit_s - seconds_since(began));
  }
  return row_start(problem, evaluator, catalog, rows, left, first.status());
}

Result<SearchResult> search_pieces(const Problem& problem, PlanEvaluator& evaluator,
                                   const ShapeCatalog& catalog, const RowShapes& rows, Stage& stage,
                                   std::chrono::steady_clock::time_point began) {
  const SearchOptions& own = stage.limits;
  if (problem.cluster.devices == 1 || !catalog.complete()) {
    Result<StartPlan> start = best_start(problem, evaluator, own);
    if (start.status().code() == StatusCode::kInfeasible && rows.splits_rows()) {
      return stopped_before_plan();
    }
    NEUROSHARD_RETURN_IF_ERROR(start.status());
    return SearchResult{std::move(start->plan), start->evaluations,
                        start->stopped_early || !catalog.complete()};
  }
  if (stage.walks_only()) {
    return walked_from(problem, evaluator, catalog, rows, stage, began, start_of_walks(stage));
  }
  const auto entered = std::chrono::steady_clock::now();
  Result<FirstPlan> first = first_plan(problem, evaluator, catalog, stage.first, began);
  std::int64_t evaluations = stage.so_far();
  std::optional<StartPlan> finer =
      finer_sequences(problem, evaluator, rows, stage.first, began,
                      first.ok() ? first->plan.cost : kAnyCost, evaluations);
  if (finer) {
    finer->evaluations = first.ok() ? first->plan.evaluations : 0;
    first = FirstPlan{*std::move(finer), first.ok() ? first->skipped : std::string_view()};
  } else {
    first = or_in_rows(std::move(first), problem, evaluator, catalog, stage.first, rows, began);
    first = or_of_finest_sequences(std::move(first), problem, evaluator, rows, stage.first);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(FirstPlan start, std::move(first));
  start = with_plans_in_layouts(std::move(start), problem, evaluator, catalog, stage.first, began);
  start.plan.evaluations += evaluations;
  start.seconds = seconds_since(entered);
  if (too_late_to_walk(own, began, start)) {
    start.plan.stopped_early = true;
    return result_of(std::move(start));
  }
  if (own.hot_rows) {
    const std::optional<WalkSpace> cut =
        space_of_walks(start.plan.plan, problem, evaluator, rows, own);
    FirstPlan hot = or_with_hot_rows(start, cut ? cut->problem : problem, evaluator,
                                     cut ? cut->catalog : catalog, rows, stage.first, began);
    if (!hot_rows(hot.plan.plan).empty()) {
      return walked_from_both(std::move(hot), std::move(start), problem, evaluator, catalog, rows,
                              stage, began);
    }
    start = std::move(hot);
  }
  start = start_of_walks(stage, std::move(start));
  return walked_from(problem, evaluator, catalog, rows, stage, began, std::move(start));
}

}  // namespace neuroshard::search
