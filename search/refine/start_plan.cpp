#include "search/refine/start_plan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "search/baselines.h"
#include "search/beam.h"
#include "search/feasibility.h"
#include "search/local/plan_pieces.h"
#include "search/neuroshard.h"
#include "search/packing/plan_packing.h"
#include "search/packing/what_would_do.h"
#include "search/plan_cost.h"
#include "search/row_shapes.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

/// Steps of about 10 ns that the paper's search may take as a start, of all plans it places.
constexpr double kMostSteps = 4e7;

/// Plans that one level of the beam places at most; the first level has one parent.
double plans_of_level(const BeamOptions& beam, int level) {
  const auto candidates = static_cast<double>(2 * beam.candidates);
  return level == 0 ? candidates : candidates * static_cast<double>(beam.width);
}

/// As many levels as the steps and the plans allow.
BeamOptions affordable_beam(const Problem& problem, double most_steps, double most_plans) {
  BeamOptions beam;
  const auto tables = static_cast<double>(problem.workload.tables.size());
  const auto devices = static_cast<double>(problem.cluster.devices);
  const double steps_per_plan = beam.grid.caps * (tables * (1 + devices / 16) + 4 * devices);
  double steps = steps_per_plan;
  double plans = beam.grid.caps;
  int levels = 0;
  for (; levels < beam.max_splits; ++levels) {
    steps += plans_of_level(beam, levels) * steps_per_plan;
    plans += plans_of_level(beam, levels) * beam.grid.caps;
    if (steps > most_steps || plans > most_plans) break;
  }
  beam.max_splits = levels;
  return beam;
}

/// Keeps the cheaper of two plans.
void keep_better(Result<SearchResult> found, PlanEvaluator& evaluator,
                 std::optional<StartPlan>& best) {
  if (!found.ok()) return;
  StartPlan start{std::move(found->plan), 0, 0, found->stopped_early};
  canonicalize(start.plan);
  start.cost = plan_cost(start.plan, evaluator);
  if (!best || start.cost < best->cost) best = std::move(start);
}

void keep_greedy(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
                 std::optional<StartPlan>& best) {
  constexpr std::array kGreedy{shard_size_greedy, shard_dim_greedy, shard_lookup_greedy,
                               shard_size_lookup_greedy};
  const StopCheck stop(options);
  const bool no_time = baselines_take_no_time(problem);
  for (const Sharder greedy : kGreedy) {
    if (best && !no_time && stop.stop()) return;
    keep_better(greedy(problem, evaluator, options), evaluator, best);
  }
}

}  // namespace

bool baselines_take_no_time(const Problem& problem) {
  constexpr std::size_t kFewDevices = 256;
  constexpr std::size_t kFewSteps = 20'000;
  const auto devices = static_cast<std::size_t>(problem.cluster.devices);
  return devices <= kFewDevices && problem.workload.tables.size() * devices <= kFewSteps;
}

bool effort_splits(const Problem& problem, double effort) {
  return affordable_beam(problem, effort * kMostSteps, static_cast<double>(kNoBudget)).max_splits >
         0;
}

void keep_baselines(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
                    std::optional<StartPlan>& best) {
  SearchOptions quiet = options;
  quiet.progress = nullptr;
  keep_better(shard_random(problem, evaluator, quiet), evaluator, best);
  keep_greedy(problem, evaluator, quiet, best);
}

StartPlan start_of(const FastPlan& fast, const Problem& problem, PlanEvaluator& evaluator,
                   const ShapeCatalog& catalog) {
  StartPlan start{plan_of(fast.pieces, problem.workload, catalog, problem.cluster.devices), 0,
                  fast.evaluations, false};
  start.cost = plan_cost(start.plan, evaluator);
  return start;
}

Result<StartPlan> best_start(const Problem& problem, PlanEvaluator& evaluator,
                             const SearchOptions& options, double effort) {
  NEUROSHARD_RETURN_IF_ERROR(check_pieces(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_finest_pieces(problem));
  std::optional<StartPlan> best;
  const StopCheck stop(options);
  SearchOptions quiet = options;
  quiet.progress = nullptr;
  keep_baselines(problem, evaluator, options, best);
  if (best && (stop.cancelled() || (stop.stop() && !baselines_take_no_time(problem)))) {
    best->stopped_early = true;
    return *std::move(best);
  }
  Result<SearchResult> found = shard_neuroshard_within(
      problem, evaluator, quiet,
      affordable_beam(problem, effort * kMostSteps, static_cast<double>(budget_share(options, 1))),
      stop);
  const Status status = found.status();
  const std::int64_t evaluations = found.ok() ? found->evaluations : 0;
  const bool stopped_early =
      found.ok() ? found->stopped_early : status.code() == StatusCode::kCancelled;
  keep_better(std::move(found), evaluator, best);
  if (!best) {
    // Row shards, where they are allowed, may take what columns do not in the time there is.
    const bool rows = row_shapes(options, problem.cluster.devices).splits_rows();
    const StopCheck patience(rows ? options : with_patience(options));
    std::optional<Plan> packed = plan_by_memory(problem, patience);
    if (packed) keep_better(SearchResult{*std::move(packed), 0, false}, evaluator, best);
    if (!packed && patience.stop()) return stopped_before_plan();
    if (!packed && status.code() == StatusCode::kCancelled) {
      return options.advise ? what_would_do(problem, {}, patience, status)
                            : no_arrangement(problem);
    }
  }
  if (!best) return status;
  best->evaluations = evaluations;
  best->stopped_early = stopped_early;
  return *std::move(best);
}

Result<StartPlan> best_baseline(const Problem& problem, PlanEvaluator& evaluator,
                                const SearchOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_pieces(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_finest_pieces(problem));
  std::optional<StartPlan> best;
  keep_greedy(problem, evaluator, options, best);
  if (!best) return best_start(problem, evaluator, options);
  return *std::move(best);
}

}  // namespace neuroshard::search
