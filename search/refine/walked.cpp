#include "search/refine/walked.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "engine/core/elapsed.h"
#include "engine/core/hot_rows.h"
#include "search/bounds/lower_bound.h"
#include "search/local/plan_pieces.h"
#include "search/plan_cost.h"
#include "search/refine/any_widths.h"
#include "search/refine/refinement.h"
#include "search/row_shapes.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

// Seconds left, for a lower bound to end the search by, and for one that takes some hundredths of
// a second; or as many plans.
constexpr double kLeastForBound = 0.3;
constexpr double kLeastForQuick = 0.9;
constexpr std::int64_t kPlansForQuick = 20'000;

/// That of the last stage is told.
BoundEffort effort_for(const Stage& stage, double seconds_left) {
  const std::int64_t plans = stage.limits.evaluations;
  const bool more =
      stage.last() && (plans > 0 ? plans >= kPlansForQuick : seconds_left >= kLeastForQuick);
  return more ? BoundEffort::kQuick : BoundEffort::kArea;
}

/// For how many sizes of pieces a search has time. (Of evaluations: steps_up_bench --cost-model
/// torchrec, 40 tasks, is within 0.1 % with 0.007 or 0.05 from 30,000 to 300,000.) Where costs do
/// not add up, tables stay in halves: golden_costs_bench with any widths had networks_64 0.1 %
/// cheaper, but dcnv2_networks_16 0.7 % costlier; networks are trained on halves.
std::size_t most_widths(const Stage& stage, const PlanEvaluator& evaluator) {
  constexpr double kOfEvaluations = 0.02;
  constexpr double kASecond = 50'000;
  constexpr double kMost = 100'000;
  if (!evaluator.additive()) return 0;
  double most = kMost;
  if (stage.end > 0) {
    most = std::min(most, kOfEvaluations * static_cast<double>(stage.end));
  } else if (stage.limits.time_limit_s > 0) {
    most = std::min(most, kASecond * stage.limits.time_limit_s);
  }
  return static_cast<std::size_t>(most);
}

/// A start, and candidates that walks have looked at to choose it.
struct ChosenStart {
  Assignment pieces;
  std::int64_t candidates = 0;
};

/// What the best of some starts is after short walks, each a share of the time limit, or of the
/// evaluations so far. (Tasks of 12 to 100 generated tables on 32 devices, 0.3 s: 14 are 5.2 %
/// cheaper than without blocks over hosts, 6.2 with a share of 0.05. golden_costs_bench:
/// networks_16 has 80 tasks 0.1 % cheaper, with 0.05 0.1 costlier; networks_64 1.5 cheaper,
/// dcnv2_networks_16 9.0, both with either.)
ChosenStart chosen_of(const std::vector<Assignment>& starts, const Problem& problem,
                      const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                      const SearchOptions& options, std::int64_t so_far) {
  constexpr double kShareOfEach = 0.02;
  SearchOptions own = options;
  own.progress = nullptr;
  if (own.evaluations > 0) {
    const double share = kShareOfEach * static_cast<double>(so_far);
    own.evaluations = std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
  }
  if (paced_by_time(own)) own.time_limit_s *= kShareOfEach;
  ChosenStart chosen;
  double least = std::numeric_limits<double>::infinity();
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

}  // namespace

SearchResult result_of(FirstPlan start) {
  return {std::move(start.plan.plan),
          start.plan.evaluations,
          start.plan.stopped_early,
          start.skipped,
          {}};
}

SearchResult walked(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                    const Stage& stage, std::chrono::steady_clock::time_point began,
                    FirstPlan start) {
  const SearchOptions& given = stage.limits;
  const double start_cost = start.plan.cost;
  std::int64_t start_evaluations = start.plan.evaluations;
  const std::vector<Plan> rivals = std::move(start.rivals);
  const std::vector<Plan> others = std::move(start.others);
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
                    {effort_for(stage, left), options.bound_within_memory});
  }
  evaluator.hold(hot_rows(result.plan));
  std::vector<Assignment> starts;
  for (const Plan& other : others) {
    Assignment own = pieces_of(other, problem.workload, catalog);
    if (!own.empty()) starts.push_back(std::move(own));
  }
  if (!starts.empty()) {
    starts.insert(starts.begin(), std::move(pieces));
    ChosenStart chosen = chosen_of(starts, problem, evaluator, catalog, options, start_evaluations);
    pieces = std::move(chosen.pieces);
    result.evaluations = start_evaluations += chosen.candidates;
  }
  Refinement refinement(problem, evaluator, catalog, options, began);
  for (const Plan& rival : rivals) {
    if (hot_rows(rival) != hot_rows(result.plan)) continue;
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

SearchResult walked_in_widths(const Problem& problem, PlanEvaluator& evaluator,
                              const ShapeCatalog& catalog, const RowShapes& rows,
                              const Stage& stage, std::chrono::steady_clock::time_point began,
                              FirstPlan start) {
  const std::size_t sizes = most_widths(stage, evaluator);
  if (sizes == 0) return walked(problem, evaluator, catalog, stage, began, std::move(start));
  const Problem any(problem.workload, problem.cluster,
                    with_any_widths(problem.space, evaluator, catalog, sizes),
                    problem.on_more_devices);
  const ShapeCatalog widths(any.space, evaluator, rows, stage.limits.cancel);
  return walked(any, evaluator, widths, stage, began, std::move(start));
}

}  // namespace neuroshard::search
