#include "search/refine/start_plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/elapsed.h"
#include "search/baselines.h"
#include "search/beam.h"
#include "search/feasibility.h"
#include "search/neuroshard.h"
#include "search/packing/plan_packing.h"
#include "search/packing/what_would_do.h"
#include "search/plan_cost.h"
#include "search/refine/fast_plan.h"
#include "search/refine/fast_row_plan.h"
#include "search/row_shapes.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

/// Steps of about 10 ns that the paper's search may take as a start, of all plans it places.
constexpr double kMostSteps = 4e7;

constexpr double kFastShare = 0.4;     // of the time, for the fast plan
constexpr double kFastSeconds = 0.02;  // or this much, if there is
/// Where more than that is used by then, others take long, too: the least limit for them, of it.
constexpr double kLeastLimit = 1.7;
constexpr double kRowShare = 0.2;      // of the time left, or the budget, for plans with rows split
constexpr double kStartShare = 0.5;    // of the time left after the fast plan, for the others
constexpr double kStartSeconds = 0.1;  // or this much, if there is
constexpr double kFullEffortSeconds = 0.4;  // of the others
constexpr std::string_view kNoBaselines = "the baselines and the paper's search";
constexpr std::string_view kNoBeam = "the paper's search";

/// Plans that one level of the beam places at most; the first level has one parent.
double plans_of_level(const BeamOptions& beam, int level) {
  const auto candidates = static_cast<double>(2 * beam.candidates);
  return level == 0 ? candidates : candidates * static_cast<double>(beam.width);
}

/// As many levels as the steps allow.
BeamOptions affordable_beam(const Problem& problem, double most_steps) {
  BeamOptions beam;
  const auto tables = static_cast<double>(problem.workload.tables.size());
  const auto devices = static_cast<double>(problem.cluster.devices);
  const double steps_per_plan = beam.grid.caps * (tables * (1 + devices / 16) + 4 * devices);
  double steps = steps_per_plan;
  int levels = 0;
  for (; levels < beam.max_splits; ++levels) {
    steps += plans_of_level(beam, levels) * steps_per_plan;
    if (steps > most_steps) break;
  }
  beam.max_splits = levels;
  return beam;
}

/// Whether `effort` is enough for any of the paper's search but placing the whole tables.
bool effort_splits(const Problem& problem, double effort) {
  return affordable_beam(problem, effort * kMostSteps).max_splits > 0;
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

/// Whether the baselines take less than a millisecond or so: then they run whatever the time.
bool takes_no_time(const Problem& problem) {
  constexpr std::size_t kFewDevices = 256;
  constexpr std::size_t kFewSteps = 20'000;
  const auto devices = static_cast<std::size_t>(problem.cluster.devices);
  return devices <= kFewDevices && problem.workload.tables.size() * devices <= kFewSteps;
}

void keep_greedy(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
                 std::optional<StartPlan>& best) {
  constexpr std::array kGreedy{shard_size_greedy, shard_dim_greedy, shard_lookup_greedy,
                               shard_size_lookup_greedy};
  for (const Sharder greedy : kGreedy) {
    keep_better(greedy(problem, evaluator, options), evaluator, best);
  }
}

void keep_baselines(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
                    std::optional<StartPlan>& best) {
  SearchOptions quiet = options;
  quiet.progress = nullptr;
  keep_better(shard_random(problem, evaluator, quiet), evaluator, best);
  keep_greedy(problem, evaluator, quiet, best);
}

/// `best`, the fast plan or none, becomes the one that fast_row_plan() finds, if that is cheaper.
void try_rows(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& catalog,
              const SearchOptions& options, std::chrono::steady_clock::time_point began,
              std::optional<StartPlan>& best) {
  SearchOptions soon = options;
  if (options.time_limit_s > 0) {
    const double so_far = seconds_since(began);
    const double left = options.time_limit_s - so_far;
    const bool paced = paced_by_time(options);
    if (paced && left < so_far) return;  // one takes as long as the plan that there is
    const double share = paced ? share_of(left, kRowShare, kFastSeconds) : left;
    soon.time_limit_s = std::max(kLeastTimeLimit, share);
  }
  std::int64_t budget = 0;  // none
  if (options.evaluations > 0) {
    const double share = kRowShare * static_cast<double>(options.evaluations);
    budget = std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
  }
  const std::optional<FastPlan> by_rows =
      fast_row_plan(problem, evaluator, catalog, StopCheck(soon), budget);
  if (!by_rows) return;
  StartPlan found = start_of(*by_rows, problem, evaluator, catalog);
  const std::int64_t evaluations = (best ? best->evaluations : 0) + found.evaluations;
  if (!best || found.cost < best->cost) best = std::move(found);
  best->evaluations = evaluations;
}

/// The plan that packing by memory finds, improved, or `best` if that is dearer: then they change
/// places. Packing has fewer and larger pieces than a plan by load that memory made finer.
std::optional<Plan> improved_packing(const Problem& problem, PlanEvaluator& evaluator,
                                     const ShapeCatalog& catalog, const SearchOptions& options,
                                     StartPlan& best) {
  const StopCheck stop(options);
  std::optional<Plan> packed = plan_by_memory(problem, stop);
  if (!packed) return std::nullopt;
  canonicalize(*packed);
  const Assignment pieces = pieces_of(*packed, problem.workload, catalog);
  if (pieces.empty()) return std::nullopt;
  const FastPlan fast = descend(problem, evaluator, catalog, stop, pieces);
  Plan plan = plan_of(fast.pieces, problem.workload, catalog, problem.cluster.devices);
  const double cost = plan_cost(plan, evaluator);
  best.evaluations += fast.evaluations;
  if (cost < best.cost) {
    std::swap(plan, best.plan);
    best.cost = cost;
  }
  return plan;
}

}  // namespace

StartPlan start_of(const FastPlan& fast, const Problem& problem, PlanEvaluator& evaluator,
                   const ShapeCatalog& catalog) {
  StartPlan start{plan_of(fast.pieces, problem.workload, catalog, problem.cluster.devices), 0,
                  fast.evaluations, false};
  start.cost = plan_cost(start.plan, evaluator);
  return start;
}

Result<StartPlan> best_start(const Problem& problem, PlanEvaluator& evaluator,
                             const SearchOptions& options, double effort) {
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_finest_pieces(problem));
  std::optional<StartPlan> best;
  const StopCheck stop(options);
  SearchOptions quiet = options;
  quiet.progress = nullptr;
  keep_baselines(problem, evaluator, options, best);
  if (best && stop.cancelled()) {
    best->stopped_early = true;
    return *std::move(best);
  }
  Result<SearchResult> found = shard_neuroshard_within(
      problem, evaluator, quiet, affordable_beam(problem, effort * kMostSteps), stop);
  const Status status = found.status();
  const std::int64_t evaluations = found.ok() ? found->evaluations : 0;
  const bool stopped_early =
      found.ok() ? found->stopped_early : status.code() == StatusCode::kCancelled;
  keep_better(std::move(found), evaluator, best);
  if (!best) {
    // Row shards, where they are allowed, may take what columns do not in the time there is.
    const bool rows = row_shapes(options, problem.cluster.devices).any();
    const StopCheck patience(rows ? options : with_patience(options));
    std::optional<Plan> packed = plan_by_memory(problem, patience);
    if (packed) keep_better(SearchResult{*std::move(packed), 0, false}, evaluator, best);
    if (!packed && patience.stop()) return stopped_before_plan();
    if (!packed && status.code() == StatusCode::kCancelled) {
      return what_would_do(problem, {}, patience, status);
    }
  }
  if (!best) return status;
  best->evaluations = evaluations;
  best->stopped_early = stopped_early;
  return *std::move(best);
}

Result<FirstPlan> first_plan(const Problem& problem, PlanEvaluator& evaluator,
                             const ShapeCatalog& catalog, const SearchOptions& options,
                             std::chrono::steady_clock::time_point began) {
  const StopCheck stop(options);
  const bool paced = paced_by_time(options);
  SearchOptions soon = options;
  if (paced) soon.time_limit_s = share_of(options.time_limit_s, kFastShare, kFastSeconds);
  std::optional<FastPlan> fast = fast_plan(problem, evaluator, catalog, StopCheck(soon));
  std::optional<StartPlan> best;
  if (fast) {
    best = start_of(*fast, problem, evaluator, catalog);
    const double so_far = seconds_since(began);
    const bool late = paced && so_far > kFastSeconds && options.time_limit_s < kLeastLimit * so_far;
    if (late || stop.stop()) {
      const bool no_time = takes_no_time(problem);
      if (no_time) keep_baselines(problem, evaluator, options, best);
      best->evaluations = fast->evaluations;
      best->stopped_early = true;
      return FirstPlan{*std::move(best), {}, no_time ? kNoBeam : kNoBaselines};
    }
  }
  // Decided before plans by rows take their time, so that they do not cut the paper's search short.
  double effort = 1;
  if (paced) {
    const double left = options.time_limit_s - seconds_since(began);
    effort = std::min(1.0, share_of(left, kStartShare, kStartSeconds) / kFullEffortSeconds);
  }
  // Tables that no columns make fit are row_start()'s.
  if (check_finest_pieces(problem).ok()) {
    try_rows(problem, evaluator, catalog, options, began, best);
  }
  SearchOptions rest = options;
  if (options.time_limit_s > 0) {
    const double left = options.time_limit_s - seconds_since(began);
    const double share = paced ? share_of(left, kStartShare, kStartSeconds) : left;
    rest.time_limit_s = std::max(kLeastTimeLimit, share);
  }
  std::optional<Plan> rival;
  if (fast && fast->finer) rival = improved_packing(problem, evaluator, catalog, rest, *best);
  Result<StartPlan> other = best_start(problem, evaluator, rest, effort);
  if (!other.ok() && !best) return other.status();
  if (other.ok()) {
    const std::int64_t evaluations = other->evaluations + (best ? best->evaluations : 0);
    const bool stopped_early = other->stopped_early || (best && best->stopped_early);
    if (!best || other->cost < best->cost) best = std::move(other).value();
    best->evaluations = evaluations;
    best->stopped_early = stopped_early;
  }
  const bool shortened = effort < 1 && !effort_splits(problem, effort);
  return FirstPlan{*std::move(best), std::move(rival), shortened ? kNoBeam : std::string_view()};
}

Result<StartPlan> best_baseline(const Problem& problem, PlanEvaluator& evaluator,
                                const SearchOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_finest_pieces(problem));
  std::optional<StartPlan> best;
  keep_greedy(problem, evaluator, options, best);
  if (!best) return best_start(problem, evaluator, options);
  return *std::move(best);
}

}  // namespace neuroshard::search
