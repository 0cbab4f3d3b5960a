#include "search/refine/first_plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "engine/core/elapsed.h"
#include "search/feasibility.h"
#include "search/refine/block_sets.h"
#include "search/refine/fast_row_plan.h"
#include "search/refine/packed_plan.h"
#include "search/refine/width_groups.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

constexpr double kFastShare = 0.4;     // of the time, or the budget, for the fast plan
constexpr double kFastSeconds = 0.02;  // or this much, if there is
/// Where it took more than that, others take long, too: the least time left for them, of its own.
constexpr double kLeastLeft = 0.7;
// golden_costs_bench: a row share of 0.1 is 0.01 % costlier in the mean of ten settings (formula_64
// +0.06), 0.4 is within 0.006 on each.
constexpr double kRowShare = 0.2;      // of the time left, or the budget, for plans with rows split
constexpr double kPackedShare = 0.05;  // of the same, for plans packed by memory
// 50 tasks of 14 to 40 tables that fill 70 to 98 % of 8 to 16 devices, by TorchRec's formula,
// beside a search without plans in block sets: 0.8 and 0.5 % cheaper in the mean after 30,000 and
// 300,000 candidates, some by 12 to 19 %, 7 and 4 of them dearer by more than 1 %. 60
// others: 1.5, 1.0 and 0.4 % after 30,000, 100,000 and 1,000,000; with one start beside the
// cheapest instead of three 0.8, 0.3 and 0.1 %.
constexpr double kSetShare = 0.1;  // of the same, for those
constexpr std::size_t kMostTight = 1;
constexpr std::size_t kMostTightAdding = 3;
// 24 tables of `tables generate --seed 1` on 8 devices, h200_sim: 1.31 ms after 300,000 plans
// instead of 1.51; of 23 other tasks of 12 to 48 tables none becomes cheaper or costlier by it.
constexpr double kWidthShare = 0.05;        // of the same, for plans with like widths together
constexpr double kStartShare = 0.5;         // of the time or the budget left then, for the others
constexpr double kStartSeconds = 0.1;       // or this much, if there is
constexpr double kFullEffortSeconds = 0.4;  // of the others
constexpr std::string_view kNoBaselines = "the baselines and the paper's search";
constexpr std::string_view kNoBeam = "the paper's search";

/// The cheapest plan so far, with what all of them took, and the others.
struct FoundPlans {
  std::optional<StartPlan> best;
  std::vector<StartPlan> others;

  void add(StartPlan found) {
    if (!best) {
      best = std::move(found);
      return;
    }
    const std::int64_t evaluations = best->evaluations + found.evaluations;
    const bool stopped_early = best->stopped_early || found.stopped_early;
    if (found.cost < best->cost) std::swap(found, *best);
    best->evaluations = evaluations;
    best->stopped_early = stopped_early;
    if (found.plan.shards != best->plan.shards) others.push_back(std::move(found));
  }
};

/// The options with that share of the time left, or `least` seconds, where time paces the search;
/// with what is left where it only ends it.
SearchOptions with_share(const SearchOptions& options, std::chrono::steady_clock::time_point began,
                         double share, double least) {
  SearchOptions own = options;
  if (options.time_limit_s <= 0) return own;
  const double left = options.time_limit_s - seconds_since(began);
  own.time_limit_s =
      std::max(kLeastTimeLimit, paced_by_time(options) ? share_of(left, share, least) : left);
  return own;
}

/// Adds what fast_row_plan() finds, which goes on from the fast plan, if there is one.
void try_rows(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& catalog,
              const SearchOptions& options, std::chrono::steady_clock::time_point began,
              const std::optional<DividedPlan>& fast, FoundPlans& plans) {
  const double so_far = seconds_since(began);
  // One takes as long as the plan that there is.
  if (paced_by_time(options) && options.time_limit_s - so_far < so_far) return;
  const StopCheck soon(with_share(options, began, kRowShare, kFastSeconds));
  const std::optional<FastPlan> by_rows =
      fast_row_plan(problem, evaluator, catalog, soon, budget_share(options, kRowShare), fast);
  if (by_rows) plans.add(start_of(*by_rows, problem, evaluator, catalog));
}

/// Adds plans for little memory.
void try_little_memory(const Problem& problem, PlanEvaluator& evaluator,
                       const ShapeCatalog& catalog, const SearchOptions& options,
                       std::chrono::steady_clock::time_point began, FoundPlans& plans) {
  const StopCheck soon(with_share(options, began, kPackedShare, kFastSeconds));
  const std::optional<FastPlan> packed =
      packed_plan(problem, evaluator, catalog, soon, budget_share(options, kPackedShare));
  if (packed) plans.add(start_of(*packed, problem, evaluator, catalog));
  if (!evaluator.additive()) return;
  const StopCheck next(with_share(options, began, kSetShare, kFastSeconds));
  const double most = plans.best ? plans.best->cost : std::numeric_limits<double>::infinity();
  for (const FastPlan& found : plans_in_block_sets(problem, evaluator, catalog, next, most,
                                                   budget_share(options, kSetShare))) {
    plans.add(start_of(found, problem, evaluator, catalog));
  }
}

/// Whether walks may begin at other plans than the cheapest: to find the pieces of another one of
/// 100,000 tables takes 0.3 s. Not where costs add up: there is no other valley to begin in.
bool others_pay(const Problem& problem, const PlanEvaluator& evaluator) {
  const auto devices = static_cast<std::size_t>(problem.cluster.devices);
  return !evaluator.additive() && problem.workload.tables.size() <= kMostPlacedByWidth / devices;
}

/// Whether plans are tried that keep the rows of a table on one host. (Tasks of 9 to 60 tables that
/// fill a quarter to 90 % of 32 and 64 devices, h200_sim, two seeds, beside none such: 34 of Meta's
/// tables 1.3, 1.0 and 0.2 % cheaper in the mean after 30,000, 300,000 and 1,000,000 candidates, 27
/// of generated ones 1.7 and 1.0 after 30,000 and 300,000, some by 10 %, none dearer by more than
/// 3.4. On two hosts, where half of the rows are at home in any case, within 0.2 % after 30,000 and
/// 0.3 to 1.0 % dearer after 300,000.)
bool gathering_pays(const Problem& problem, const PlanEvaluator& evaluator) {
  constexpr std::int32_t kMoreThanHosts = 2;
  const std::int32_t of_host = evaluator.host_devices();
  return of_host > 0 && problem.cluster.devices > kMoreThanHosts * of_host;
}

/// Plans for several hosts, found in their own ways.
constexpr std::array kOnHosts{fast_host_plan, fast_gathered_plan};

/// What these find where they are for the problem.
std::vector<StartPlan> try_hosts(const Problem& problem, PlanEvaluator& evaluator,
                                 const ShapeCatalog& catalog, const SearchOptions& options,
                                 std::chrono::steady_clock::time_point began) {
  std::vector<StartPlan> plans;
  if (catalog.host_devices() == 0 || !others_pay(problem, evaluator)) return plans;
  for (const auto on_hosts : kOnHosts) {
    if (on_hosts == fast_gathered_plan && !gathering_pays(problem, evaluator)) continue;
    const StopCheck soon(with_share(options, began, kRowShare, kFastSeconds));
    const std::optional<FastPlan> found =
        on_hosts(problem, evaluator, catalog, soon, budget_share(options, kRowShare));
    if (found) plans.push_back(start_of(*found, problem, evaluator, catalog));
  }
  return plans;
}

/// Of few tables, walks from afar find other valleys: with rivals, too, 16 tasks of 8 to 40 tables
/// on 8 to 32 devices are 0.6 % costlier, 16 others the same.
bool rivals_pay(const Problem& problem, const PlanEvaluator& evaluator) {
  constexpr std::size_t kFewTables = 32;
  return others_pay(problem, evaluator) && problem.workload.tables.size() > kFewTables;
}

/// What walks go on from beside the cheapest plan: plans by width, then others that cost little
/// more, `others` by their cost. (Beside those by width alone golden_costs_bench has 80 tasks of
/// little memory, where few plans by width fit, 1.0 % cheaper, networks_64 0.2; without a limit to
/// their costs 0.9, and 0.3 % costlier. Before plans by width, networks_16 is 1.7 % costlier.)
std::vector<Plan> rivals_of(std::vector<StartPlan> by_width, std::vector<StartPlan> others,
                            double least_cost) {
  constexpr double kLittleMore = 1.1;  // times the least cost
  std::vector<Plan> rivals;
  for (StartPlan& plan : by_width) rivals.push_back(std::move(plan.plan));
  for (StartPlan& plan : others) {
    if (plan.cost < kLittleMore * least_cost) rivals.push_back(std::move(plan.plan));
  }
  rivals.resize(std::min(rivals.size(), kMostRivals));
  return rivals;
}

/// The fast plan, or a cheaper one that takes no time: for all others it is too late.
FirstPlan in_no_time(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
                     StartPlan fast) {
  const std::int64_t evaluations = fast.evaluations;
  const bool no_time = baselines_take_no_time(problem);
  std::optional<StartPlan> best(std::move(fast));
  if (no_time) keep_baselines(problem, evaluator, options, best);
  best->evaluations = evaluations;
  best->stopped_early = true;
  return {*std::move(best), no_time ? kNoBeam : kNoBaselines};
}

}  // namespace

Result<FirstPlan> first_plan(const Problem& problem, PlanEvaluator& evaluator,
                             const ShapeCatalog& catalog, const SearchOptions& options,
                             std::chrono::steady_clock::time_point began) {
  const StopCheck stop(options);
  const auto entered = std::chrono::steady_clock::now();
  const bool paced = paced_by_time(options);
  SearchOptions soon = options;
  if (paced) soon.time_limit_s = share_of(options.time_limit_s, kFastShare, kFastSeconds);
  const std::optional<DividedPlan> fast =
      plan_by_load(problem, evaluator, catalog, StopCheck(soon), budget_share(options, kFastShare));
  FoundPlans plans;
  std::vector<StartPlan> on_hosts;
  std::optional<StartPlan>& best = plans.best;
  if (fast) {
    best = start_of(fast->plan, problem, evaluator, catalog);
    const double took = seconds_since(entered);
    const bool late = paced && took > kFastSeconds &&
                      options.time_limit_s - seconds_since(began) < kLeastLeft * took;
    if (late || stop.stop()) return in_no_time(problem, evaluator, options, *std::move(best));
  }
  // Decided before plans by rows take their time, so that they do not cut the paper's search short.
  double effort = 1;
  if (paced) {
    const double left = options.time_limit_s - seconds_since(began);
    effort = std::min(1.0, share_of(left, kStartShare, kStartSeconds) / kFullEffortSeconds);
  }
  const bool tight = !fast || fast->plan.finer;
  // Tables that no columns make fit are row_start()'s.
  if (check_finest_pieces(problem).ok()) {
    try_rows(problem, evaluator, catalog, options, began, fast, plans);
    on_hosts = try_hosts(problem, evaluator, catalog, options, began);
    if (tight) try_little_memory(problem, evaluator, catalog, options, began, plans);
  }
  SearchOptions rest = with_share(options, began, kStartShare, kStartSeconds);
  if (options.evaluations > 0 && best) {
    const std::int64_t left = options.evaluations - best->evaluations;
    rest.evaluations = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(kStartShare * static_cast<double>(left)));
  }
  Result<StartPlan> other = best_start(problem, evaluator, rest, effort);
  if (!other.ok() && !best) return other.status();
  if (other.ok()) plans.add(std::move(other).value());
  std::vector<StartPlan> others = std::exchange(plans.others, {});
  std::stable_sort(others.begin(), others.end(),
                   [](const StartPlan& a, const StartPlan& b) { return a.cost < b.cost; });
  if (!stop.stop()) {
    const StopCheck share(with_share(options, began, kWidthShare, 0));
    for (const FastPlan& found :
         width_groups(problem, evaluator, catalog, share, budget_share(options, kWidthShare))) {
      plans.add(start_of(found, problem, evaluator, catalog));
    }
  }
  // Where memory is tight a walk hardly leaves the layouts that it begins with, so that another
  // start is tried beside the cheapest. (120 tasks of 2 to 20 generated tables that fill 80 to 97 %
  // of 2 to 16 devices, h200_sim, 30,000 candidates: plans are 0.3 % cheaper in the mean, 18 of
  // them by up to 23 %, 13 dearer by up to 6 %; with all others as rivals instead, 60 are 0.1 %
  // dearer. 80 of 3 to 30 tables by TorchRec's formula: 0.8, 0.4 and 0.1 % cheaper in the mean
  // after 1,000, 10,000 and 100,000 candidates, by 22 % at best.) Where costs add up, plans in
  // block sets are among the others.
  std::vector<Plan> rivals;
  std::vector<Plan> more;
  if (rivals_pay(problem, evaluator)) {
    rivals = rivals_of(std::move(plans.others), std::move(others), best->cost);
  } else if (tight) {
    others.resize(std::min(others.size(), evaluator.additive() ? kMostTightAdding : kMostTight));
    for (StartPlan& each : others) more.push_back(std::move(each.plan));
  }
  plans.others.clear();
  for (StartPlan& each : on_hosts) plans.add(std::move(each));
  if (!plans.others.empty()) more.clear();
  for (StartPlan& each : plans.others) more.push_back(std::move(each.plan));
  const bool shortened = effort < 1 && !effort_splits(problem, effort);
  return FirstPlan{*std::move(best), shortened ? kNoBeam : std::string_view(), 0, std::move(rivals),
                   std::move(more)};
}

}  // namespace neuroshard::search
