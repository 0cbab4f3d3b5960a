#include "search/refine/refine.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/elapsed.h"
#include "search/equal_columns.h"
#include "search/feasibility.h"
#include "search/local/shape_catalog.h"
#include "search/packing/what_would_do.h"
#include "search/refine/equal_start.h"
#include "search/refine/fast_start.h"
#include "search/refine/first_plan.h"
#include "search/refine/hot_start.h"
#include "search/refine/joined_columns.h"
#include "search/refine/light_tables.h"
#include "search/refine/row_start.h"
#include "search/refine/sequence_parts.h"
#include "search/refine/start_plan.h"
#include "search/refine/usual_limit.h"
#include "search/refine/walked.h"
#include "search/row_shapes.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

constexpr double kAnyCost = std::numeric_limits<double>::infinity();
// Of the time or the evaluations, or this much if there is, for a first plan in equal blocks.
constexpr double kEqualShare = 0.05;
constexpr double kEqualSeconds = 0.02;

/// Whether so little time is left after the first plan that walks would not get beyond their start:
/// they need some plans' time to begin and to end in. (100,000 tables on 4,096 devices, a second by
/// h200_sim: four plans' time was 0.44 s, and walks that began with 0.24 s left ended 0.14 s late.)
bool too_late_to_walk(const SearchOptions& options, std::chrono::steady_clock::time_point began,
                      const FirstPlan& first) {
  constexpr double kLeastPlans = 4;
  if (StopCheck(options, began).stop()) return true;
  if (!paced_by_time(options) || first.plan.evaluations == 0) return false;
  const double left = options.time_limit_s - seconds_since(began);
  return left < kLeastPlans * first.seconds / static_cast<double>(first.plan.evaluations);
}

/// What has to fit: tables that are not pooled may be cut more finely than into halves.
Problem with_finest_pieces(const Problem& problem) {
  return {problem.workload, problem.cluster,
          with_finest_sequences(problem.space, problem.cluster.devices), problem.on_more_devices};
}

/// First plans depend on the budget by steps alone, and from kMostForFirst on not at all, so that
/// walks of a larger budget begin as those of a smaller one. (100,000 candidates: the
/// golden settings are within 0.004 % of a first plan that has its share of all of them, in four of
/// formulas; with a third of it they are up to 0.09 % costlier.)
SearchOptions in_steps(SearchOptions options) {
  constexpr std::int64_t kMostForFirst = 60'000;
  constexpr std::int64_t kStep = 3;
  if (options.evaluations <= 0) return options;
  std::int64_t step = kMostForFirst;
  while (step > options.evaluations) step /= kStep;
  options.evaluations = std::max<std::int64_t>(1, step);
  return options;
}

/// The start improved by walks, or one with hot rows where that is cheaper.
SearchResult walked_from(const Problem& problem, PlanEvaluator& evaluator,
                         const ShapeCatalog& catalog, const RowShapes& rows,
                         const SearchOptions& options, std::chrono::steady_clock::time_point began,
                         FirstPlan start) {
  if (too_late_to_walk(options, began, start)) {
    start.plan.stopped_early = true;
    return result_of(std::move(start));
  }
  if (options.hot_rows) {
    std::int64_t evaluations = start.plan.evaluations;
    std::optional<HotStart> hot =
        hot_start(problem, evaluator, catalog, rows, options, began, start.plan, evaluations);
    start.plan.evaluations = evaluations;
    if (hot) {
      hot->plan.evaluations = evaluations;
      return walked(hot->problem, evaluator, hot->catalog, options, began,
                    {std::move(hot->plan), start.skipped, start.seconds});
    }
  }
  return walked_in_widths(problem, evaluator, catalog, rows, options, began, std::move(start));
}

/// A first plan, or where there is none for want of memory or time, one with rows split, if those
/// may be.
Result<FirstPlan> or_in_rows(Result<FirstPlan> first, const Problem& problem,
                             PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                             const SearchOptions& options, const RowShapes& rows,
                             std::chrono::steady_clock::time_point began) {
  const StatusCode code = first.status().code();
  const bool none = code == StatusCode::kInfeasible ||
                    (code == StatusCode::kCancelled && !StopCheck(options).cancelled());
  if (!none) return first;
  // Tables that may only be on every device are not for the packing of columns, either, nor those
  // that fit no other way: a device has its own part of the buffers of a replica alone.
  const bool only_replicas =
      !check_pieces(problem).ok() || (rows.replicas > 1 && !check_finest_pieces(problem).ok());
  if (!rows.splits_rows() && !only_replicas) return first;
  SearchOptions left = options;
  if (options.time_limit_s > 0) {
    left.time_limit_s = std::max(kLeastTimeLimit, options.time_limit_s - seconds_since(began));
  }
  return row_start(problem, evaluator, catalog, rows, left, first.status());
}

/// Of a problem that no shortage is known of, in pieces of its space.
Result<SearchResult> search_pieces(const Problem& problem, PlanEvaluator& evaluator,
                                   const SearchOptions& own, const RowShapes& rows,
                                   std::chrono::steady_clock::time_point began) {
  const SearchOptions early = in_steps(own);
  const ShapeCatalog catalog(problem.space, evaluator, rows, own.cancel);
  if (problem.cluster.devices == 1 || !catalog.complete()) {
    Result<StartPlan> start = best_start(problem, evaluator, own);
    if (start.status().code() == StatusCode::kInfeasible && rows.splits_rows()) {
      return stopped_before_plan();
    }
    NEUROSHARD_RETURN_IF_ERROR(start.status());
    return SearchResult{std::move(start->plan), start->evaluations,
                        start->stopped_early || !catalog.complete()};
  }
  const auto entered = std::chrono::steady_clock::now();
  Result<FirstPlan> first = first_plan(problem, evaluator, catalog, early, began);
  std::int64_t evaluations = 0;
  if (std::optional<SequenceStart> finer =
          finer_sequences(problem, evaluator, rows, early, began,
                          first.ok() ? first->plan.cost : kAnyCost, evaluations)) {
    const Problem cut(problem.workload, problem.cluster, std::move(finer->space),
                      problem.on_more_devices);
    finer->plan.evaluations = evaluations + (first.ok() ? first->plan.evaluations : 0);
    const ShapeCatalog pieces(cut.space, evaluator, rows, own.cancel);
    return walked_from(
        cut, evaluator, pieces, rows, own, began,
        {std::move(finer->plan), first.ok() ? first->skipped : "", seconds_since(entered)});
  }
  first = or_in_rows(std::move(first), problem, evaluator, catalog, own, rows, began);
  NEUROSHARD_ASSIGN_OR_RETURN(FirstPlan start, std::move(first));
  start.plan.evaluations += evaluations;
  start.seconds = seconds_since(entered);
  return walked_from(problem, evaluator, catalog, rows, own, began, std::move(start));
}

/// Why no plan can fit, whatever its pieces are.
std::optional<Shortage> shortage_of(const Problem& problem, const RowShapes& rows) {
  const Problem finest = with_finest_pieces(problem);
  for (const auto find_shortage : {shortage_in_all, shortage_for_a_piece, shortage_on_devices}) {
    std::optional<Shortage> shortage = find_shortage(finest, rows);
    if (shortage) return shortage;
  }
  return std::nullopt;
}

/// The first plan, and the others that it could have been.
std::vector<Plan> plans_of(const FirstPlan& first) {
  std::vector<Plan> plans{first.plan.plan};
  plans.insert(plans.end(), first.rivals.begin(), first.rivals.end());
  if (!first.other.shards.empty()) plans.push_back(first.other);
  return plans;
}

/// In equal blocks, from a plan like a first one in any pieces. That there is none in any pieces of
/// the usual sizes proves nothing of thirds.
Result<SearchResult> search_equal_blocks(const Problem& problem, PlanEvaluator& evaluator,
                                         const SearchOptions& own, const RowShapes& rows,
                                         std::chrono::steady_clock::time_point began) {
  const ShapeCatalog blocks(problem.space, evaluator, rows, own.cancel);
  if (!blocks.complete()) return stopped_before_plan();
  const Problem any(problem.workload, problem.cluster, with_any_blocks(problem.space),
                    problem.on_more_devices);
  const std::optional<Shortage> shortage = shortage_of(problem, rows);
  SearchOptions early = in_steps(own);
  early.advise = false;
  const auto entered = std::chrono::steady_clock::now();
  std::optional<FirstPlan> first;
  if (!shortage) {
    const ShapeCatalog pieces(any.space, evaluator, rows, own.cancel);
    if (!pieces.complete()) return stopped_before_plan();
    Result<FirstPlan> found = or_in_rows(first_plan(any, evaluator, pieces, early, began), any,
                                         evaluator, pieces, early, rows, began);
    if (found.ok()) first = *std::move(found);
  }
  std::optional<FirstPlan> equal =
      equal_start(problem, evaluator, blocks, first ? plans_of(*first) : std::vector<Plan>(),
                  share_of_time(own, began, kEqualShare, kEqualSeconds),
                  budget_share(early, kEqualShare), own.seed);
  if (!equal) {
    return shortage ? what_would_do(problem, own, *shortage)
                    : search_pieces(any, evaluator, own, rows, began);
  }
  if (first) {
    equal->plan.evaluations += first->plan.evaluations;
    equal->skipped = first->skipped;
  }
  equal->seconds = seconds_since(entered);
  if (too_late_to_walk(own, began, *equal)) {
    equal->plan.stopped_early = true;
    return result_of(*std::move(equal));
  }
  return walked(problem, evaluator, blocks, own, began, *std::move(equal));
}

Result<SearchResult> search_within(const Problem& problem, PlanEvaluator& evaluator,
                                   const SearchOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  const SearchOptions own = with_usual_limit(options);
  const RowShapes rows = row_shapes(own, problem.cluster.devices);
  NEUROSHARD_RETURN_IF_ERROR(check_pieces(problem, rows));
  const bool equal = has_equal_blocks(problem.space);
  const auto search = equal ? search_equal_blocks : search_pieces;
  if (!equal) {
    if (const auto shortage = shortage_of(problem, rows)) {
      return what_would_do(problem, own, *shortage);
    }
  }
  if (const auto light = with_light_tables_whole(problem, evaluator, rows, own)) {
    SearchOptions first = own;
    first.advise = false;
    Result<SearchResult> found = search(*light, evaluator, first, rows, began);
    if (found.ok()) {
      found->lower_bound.reset();  // that of all layouts may be lower
      return found;
    }
    if (StopCheck(own).cancelled()) return found;
  }
  return search(problem, evaluator, own, rows, began);
}

}  // namespace

Result<SearchResult> shard_refine(const Problem& problem, PlanEvaluator& evaluator,
                                  const SearchOptions& options) {
  Result<SearchResult> found = search_within(problem, evaluator, options);
  if (found.status().code() == StatusCode::kInfeasible) {
    return with_wider_options(problem, options, found.status());
  }
  if (!found.ok()) return found;
  found->plan = with_joined_columns(std::move(found->plan), problem, evaluator, found->evaluations);
  return found;
}

}  // namespace neuroshard::search
