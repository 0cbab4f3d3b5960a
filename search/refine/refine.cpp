#include "search/refine/refine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "engine/core/elapsed.h"
#include "engine/core/hot_rows.h"
#include "search/bounds/lower_bound.h"
#include "search/equal_columns.h"
#include "search/feasibility.h"
#include "search/local/plan_pieces.h"
#include "search/local/shape_catalog.h"
#include "search/packing/what_would_do.h"
#include "search/plan_cost.h"
#include "search/refine/any_widths.h"
#include "search/refine/equal_start.h"
#include "search/refine/fast_start.h"
#include "search/refine/first_plan.h"
#include "search/refine/hot_start.h"
#include "search/refine/joined_columns.h"
#include "search/refine/light_tables.h"
#include "search/refine/refinement.h"
#include "search/refine/row_start.h"
#include "search/refine/sequence_parts.h"
#include "search/refine/start_plan.h"
#include "search/refine/usual_limit.h"
#include "search/row_shapes.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

// Seconds left, for a lower bound to end the search by, and for one that takes some hundredths of
// a second; or as many plans.
constexpr double kLeastForBound = 0.3;
constexpr double kLeastForQuick = 0.9;
constexpr std::int64_t kPlansForQuick = 20'000;
constexpr double kAnyCost = std::numeric_limits<double>::infinity();
// Of the time or the evaluations, or this much if there is, for a first plan in equal blocks.
constexpr double kEqualShare = 0.05;
constexpr double kEqualSeconds = 0.02;

BoundEffort effort_for(const SearchOptions& options, double seconds_left) {
  const bool more = options.evaluations > 0 ? options.evaluations >= kPlansForQuick
                                            : seconds_left >= kLeastForQuick;
  return more ? BoundEffort::kQuick : BoundEffort::kArea;
}

/// For how many sizes of pieces a search has time. Where costs do not add up, tables stay in
/// halves: golden_costs_bench with any widths had networks_64 0.1 % cheaper, but dcnv2_networks_16
/// 0.7 % costlier; networks are trained on halves.
std::size_t most_widths(const SearchOptions& options, const PlanEvaluator& evaluator) {
  constexpr double kOfEvaluations = 0.05;
  constexpr double kASecond = 50'000;
  constexpr double kMost = 100'000;
  if (!evaluator.additive()) return 0;
  double most = kMost;
  if (options.evaluations > 0) {
    most = std::min(most, kOfEvaluations * static_cast<double>(options.evaluations));
  } else if (options.time_limit_s > 0) {
    most = std::min(most, kASecond * options.time_limit_s);
  }
  return static_cast<std::size_t>(most);
}

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

/// The start as it is.
SearchResult result_of(FirstPlan start) {
  return {std::move(start.plan.plan),
          start.plan.evaluations,
          start.plan.stopped_early,
          start.skipped,
          {}};
}

/// A start, and candidates that walks have looked at to choose it.
struct ChosenStart {
  Assignment pieces;
  std::int64_t candidates = 0;
};

/// What the better of two starts is after short walks, each a share of the options' limits. (Tasks
/// of 12 to 100 generated tables on 32 devices, 0.3 s: 14 are 5.2 % cheaper than without blocks
/// over hosts, 6.2 with a share of 0.05. golden_costs_bench: networks_16 has 80 tasks 0.1 %
/// cheaper, with 0.05 0.1 costlier; networks_64 1.5 cheaper, dcnv2_networks_16 9.0, both with
/// either.)
ChosenStart chosen_of(const std::array<Assignment, 2>& starts, const Problem& problem,
                      const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                      const SearchOptions& options) {
  constexpr double kShare = 0.02;
  SearchOptions own = options;
  own.progress = nullptr;
  if (own.evaluations > 0) own.evaluations = budget_share(options, kShare);
  if (paced_by_time(own)) own.time_limit_s *= kShare;
  ChosenStart chosen;
  double least = kAnyCost;
  for (const Assignment& start : starts) {
    Refinement walks(problem, evaluator, catalog, own, std::chrono::steady_clock::now());
    walks.run(start, 0, {});
    chosen.candidates += walks.candidates();
    if (walks.best_cost() >= least) continue;
    least = walks.best_cost();
    chosen.pieces = walks.best();
  }
  return chosen;
}

/// The start, improved by walks in pieces of the catalog, where that is complete and has those.
SearchResult walked(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                    const SearchOptions& given, std::chrono::steady_clock::time_point began,
                    FirstPlan start) {
  const double start_cost = start.plan.cost;
  std::int64_t start_evaluations = start.plan.evaluations;
  const std::vector<Plan> rivals = std::move(start.rivals);
  const Plan other = std::move(start.other);
  SearchResult result = result_of(std::move(start));
  if (!catalog.complete()) return result;
  const auto entered = std::chrono::steady_clock::now();
  Assignment pieces = pieces_of(result.plan, problem.workload, catalog);
  if (pieces.empty()) return result;
  SearchOptions options = given;
  const bool timed = options.time_limit_s > 0;
  if (timed) {
    // The way back to a plan takes some times as long as the way to pieces: 0.3 s and 0.1 s for
    // 100,000 tables in 313,000 pieces.
    constexpr double kWayBack = 3;
    options.time_limit_s =
        std::max(kLeastTimeLimit, given.time_limit_s - kWayBack * seconds_since(entered));
  }
  const double left = timed ? options.time_limit_s - seconds_since(began) : kNoTimeLimit;
  if (left >= kLeastForBound) {
    result.lower_bound =
        lower_bound(problem, evaluator, row_shapes(options, problem.cluster.devices),
                    {effort_for(options, left), options.bound_within_memory});
  }
  evaluator.hold(hot_rows(result.plan));
  if (Assignment others = pieces_of(other, problem.workload, catalog); !others.empty()) {
    ChosenStart chosen =
        chosen_of({std::move(pieces), std::move(others)}, problem, evaluator, catalog, options);
    pieces = std::move(chosen.pieces);
    result.evaluations = start_evaluations += chosen.candidates;
  }
  Refinement refinement(problem, evaluator, catalog, options, began);
  for (const Plan& rival : rivals) {
    refinement.add_rival(pieces_of(rival, problem.workload, catalog));
  }
  refinement.run(std::move(pieces), start_evaluations, result.lower_bound);
  result.evaluations += refinement.candidates();
  result.stopped_early = result.stopped_early || refinement.stopped_early();
  // Sums in another order differ by rounding: what counts is the order of plan files.
  Plan plan = plan_of(refinement.best(), problem.workload, catalog, problem.cluster.devices);
  if (plan_cost(plan, evaluator) <= start_cost) result.plan = std::move(plan);
  return result;
}

/// The same in as many widths of columns as there is time for. `catalog`: of the problem.
SearchResult walked_in_widths(const Problem& problem, PlanEvaluator& evaluator,
                              const ShapeCatalog& catalog, const RowShapes& rows,
                              const SearchOptions& options,
                              std::chrono::steady_clock::time_point began, FirstPlan start) {
  const std::size_t sizes = most_widths(options, evaluator);
  if (sizes == 0) return walked(problem, evaluator, catalog, options, began, std::move(start));
  const Problem any(problem.workload, problem.cluster,
                    with_any_widths(problem.space, evaluator, catalog, sizes),
                    problem.on_more_devices);
  const ShapeCatalog widths(any.space, evaluator, rows, options.cancel);
  return walked(any, evaluator, widths, options, began, std::move(start));
}

/// The same, or with hot rows where a first plan with them is cheaper.
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
