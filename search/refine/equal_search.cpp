#include "search/refine/equal_search.h"

#include <optional>
#include <utility>
#include <vector>

#include "engine/core/elapsed.h"
#include "search/equal_columns.h"
#include "search/local/plan_pieces.h"
#include "search/local/shape_catalog.h"
#include "search/packing/what_would_do.h"
#include "search/refine/equal_start.h"
#include "search/refine/fast_start.h"
#include "search/refine/first_plan.h"
#include "search/refine/known_shortage.h"
#include "search/refine/piece_search.h"
#include "search/refine/walked.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

// Of the time or the evaluations, or this much if there is, for a first plan in equal blocks.
constexpr double kEqualShare = 0.05;
constexpr double kEqualSeconds = 0.02;

/// The first plan, and the others that it could have been.
std::vector<Plan> plans_of(const FirstPlan& first) {
  std::vector<Plan> plans{first.plan.plan};
  plans.insert(plans.end(), first.rivals.begin(), first.rivals.end());
  plans.insert(plans.end(), first.others.begin(), first.others.end());
  return plans;
}

}  // namespace

Result<SearchResult> search_equal_blocks(const Problem& problem, PlanEvaluator& evaluator,
                                         const ShapeCatalog& blocks, const RowShapes& rows,
                                         Stage& stage,
                                         std::chrono::steady_clock::time_point began) {
  const SearchOptions& own = stage.limits;
  if (!blocks.complete()) return stopped_before_plan();
  const bool has_earlier =
      stage.earlier != nullptr && !pieces_of(stage.earlier->plan, problem.workload, blocks).empty();
  if (stage.walks_only() && has_earlier) {
    return walked(problem, evaluator, blocks, stage, began, start_of_walks(stage));
  }
  const Problem any(problem.workload, problem.cluster, with_any_blocks(problem.space),
                    problem.on_more_devices);
  const std::optional<Shortage> shortage = known_shortage(problem, rows);
  SearchOptions early = stage.first;
  early.advise = false;
  const auto entered = std::chrono::steady_clock::now();
  std::optional<FirstPlan> first;
  std::optional<ShapeCatalog> pieces;
  if (!shortage) {
    pieces.emplace(any.space, evaluator, rows, own.cancel);
    if (!pieces->complete()) return stopped_before_plan();
    if (stage.walks_only()) return search_pieces(any, evaluator, *pieces, rows, stage, began);
    Result<FirstPlan> found = or_in_rows(first_plan(any, evaluator, *pieces, early, began), any,
                                         evaluator, *pieces, early, rows, began);
    if (found.ok()) first = *std::move(found);
  }
  std::optional<FirstPlan> equal =
      equal_start(problem, evaluator, blocks, first ? plans_of(*first) : std::vector<Plan>(),
                  share_of_time(own, began, kEqualShare, kEqualSeconds),
                  budget_share(early, kEqualShare), own.seed);
  if (!equal && has_earlier) {
    FirstPlan earlier = start_of_walks(stage);
    if (first) earlier.plan.evaluations += first->plan.evaluations;
    return walked(problem, evaluator, blocks, stage, began, std::move(earlier));
  }
  if (!equal) {
    return shortage ? what_would_do(problem, own, *shortage)
                    : search_pieces(any, evaluator, *pieces, rows, stage, began);
  }
  if (first) {
    equal->plan.evaluations += first->plan.evaluations;
    equal->skipped = first->skipped;
  }
  equal->plan.evaluations += stage.so_far();
  equal->seconds = seconds_since(entered);
  if (too_late_to_walk(own, began, *equal)) {
    equal->plan.stopped_early = true;
    return result_of(*std::move(equal));
  }
  if (stage.earlier == nullptr || has_earlier) *equal = start_of_walks(stage, *std::move(equal));
  return walked(problem, evaluator, blocks, stage, began, *std::move(equal));
}

}  // namespace neuroshard::search
