#include "search/replan/replan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/elapsed.h"
#include "engine/core/held_cells.h"
#include "search/local/local_walk.h"
#include "search/plan_cost.h"
#include "search/refine/sequence_parts.h"
#include "search/refine/usual_limit.h"
#include "search/refine/walk_budget.h"
#include "search/refine/walk_temperatures.h"
#include "search/replan/fresh_plan.h"
#include "search/replan/moved_cells.h"
#include "search/replan/partial_plan.h"
#include "search/replan/running_plan.h"
#include "search/replan/tidy.h"
#include "search/stop_check.h"
#include "search/workers.h"

namespace neuroshard::search {
namespace {

// Share of the cost that as many bytes weigh as may move, so that what gains nothing stays where it
// is, and of that in each generation over the one before. (Tasks with drifted lookups and with
// greedy plans, 20,000 to 1,000,000 candidates: 0.02 to 1 are alike, none gains up to 4 % less.)
constexpr double kByteWeight = 0.1;
constexpr double kLaterWeight = 0.5;
constexpr double kFreshShare = 0.25;  // of a cycle, for a plan from nothing
// A budget that a plan from nothing, which costs thousands of plans of itself, leaves something of.
constexpr std::int64_t kLeastForFresh = 10'000;
constexpr double kTidyShare = 0.1;  // of the time limit, beyond it
// Plans that tidying puts a cost on at most, or a tenth of the budget.
constexpr std::int64_t kTidied = 1000;

class Replanning {
 public:
  Replanning(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
             const Plan& now, const Plan& start, const MoveLimit& limit)
      : problem_(problem),
        evaluator_(evaluator),
        options_(options),
        start_(start),
        limit_(limit),
        held_(problem.workload, now),
        hosts_(problem, options),
        threads_(workers_of(options.pool)),
        budget_(options, std::chrono::steady_clock::now(), threads_, kWalks, "replan"),
        walkers_(static_cast<std::size_t>(threads_)) {}

  void run() {
    budget_.run_cycles(
        WalkBudget::Cycles::kOne, 1, 0, [&] { run_cycle(); }, [] { return false; });
    if (now_) tidy_best();
  }

  [[nodiscard]] Plan best() const {
    return now_ ? plan_of(best_, *catalog_, start_.devices) : start_;
  }
  [[nodiscard]] std::int64_t candidates() const { return budget_.candidates(); }
  [[nodiscard]] bool stopped_early() const { return budget_.over(); }

 private:
  struct Walker {
    explicit Walker(const RunningPlan& now)
        : cells(now.held, now.catalog, now.limit.bytes, now.hosts),
          walk(now.problem, now.evaluator, now.catalog, &cells) {}
    Walker(const Walker&) = delete;
    Walker& operator=(const Walker&) = delete;
    MovedCells cells;
    LocalWalk walk;
  };
  struct Walked {
    CellPlan best;
    double cost = 0;
    std::int64_t candidates = 0;
  };

  Walker& walker(int worker) {
    std::unique_ptr<Walker>& own = walkers_[static_cast<std::size_t>(worker)];
    if (!own) own = std::make_unique<Walker>(*now_);
    return *own;
  }

  /// Half of the first walks go on from another plan, made from nothing.
  void run_cycle() {
    SearchOptions share = budget_.share_of_cycle(kFreshShare);
    share.seed += cycle_++;
    std::int64_t evaluations = 0;
    std::optional<Plan> fresh;
    if (budget_.plans() == 0 || budget_.plans() >= kLeastForFresh) {
      fresh = fresh_plan(problem_, evaluator_, start_, limit_, hosts_, share, evaluations);
    }
    if (!knows(fresh) && !make_catalog(fresh)) return;  // cancelled
    if (fresh) start_rival(*fresh, share, evaluations);
    budget_.add(evaluations);
    run_generations();
    take_better();
  }

  /// Whether the catalog has the sizes of all shards.
  [[nodiscard]] bool knows(const std::optional<Plan>& plan) const {
    if (!now_) return false;
    const std::vector<ShardShape> shapes = plan ? shapes_of(*plan) : std::vector<ShardShape>();
    return std::none_of(shapes.begin(), shapes.end(),
                        [&](const ShardShape& shape) { return catalog_->of(shape) == kNoEntry; });
  }

  /// Of the sizes of that plan, too: walks do not divide rows. False when it is cancelled before
  /// the catalog is complete: all stays as it is then.
  bool make_catalog(const std::optional<Plan>& fresh) {
    const Plan best = this->best();
    std::vector<ShardShape> shapes = shapes_of(start_);
    for (const Plan* const plan : {&best, fresh ? &*fresh : &best}) {
      const std::vector<ShardShape> own = shapes_of(*plan);
      shapes.insert(shapes.end(), own.begin(), own.end());
    }
    ShapeCatalog catalog = ShapeCatalog::around(std::move(shapes), limit_.whole_tables,
                                                problem_.space, evaluator_, options_.cancel);
    if (!catalog.complete()) return false;
    for (std::unique_ptr<Walker>& own : walkers_) own.reset();
    now_.reset();
    catalog_.emplace(std::move(catalog));
    now_.emplace(RunningPlan{problem_, evaluator_, *catalog_, start_, held_, limit_, hosts_});
    best_ = cells_of(best, *catalog_);
    best_cost_ = walker(0).walk.cost(best_.pieces);
    return true;
  }

  /// The fresh plan, as far as the limit lets it be, within as much time again.
  void start_rival(const Plan& fresh, const SearchOptions& share, std::int64_t& evaluations) {
    const StopCheck stop(share);
    const std::int64_t most = share.evaluations > 0 ? share.evaluations : kMostCostedBack;
    rival_ = partial_plan(fresh, *now_, evaluations + most, evaluations, [&] {
               return stop.stop();
             }).value_or(CellPlan{});
    if (!rival_.pieces.empty()) rival_cost_ = walker(0).walk.cost(rival_.pieces);
  }

  void run_generations() {
    for (int left = kGenerations; left > 0 && !budget_.over(); --left) {
      if (budget_.plans() > 0 && budget_.too_late()) return;
      run_generation(kGenerations - left, budget_.share(left));
    }
  }

  [[nodiscard]] bool for_rival(std::int64_t index) const {
    return !rival_.pieces.empty() && index % 2 == 1;
  }
  [[nodiscard]] const CellPlan& lineage(std::int64_t index) const {
    return for_rival(index) ? rival_ : best_;
  }
  void take_better() {
    if (rival_.pieces.empty()) return;
    if (rival_cost_ < best_cost_) {
      best_ = std::move(rival_);
      best_cost_ = rival_cost_;
    }
    rival_ = {};
  }

  void run_generation(int generation, const WalkBudget::Share& share) {
    if (generation >= kRivalGenerations) take_better();
    const CommResponse response = walker(0).walk.probe(best_.pieces);
    const CommResponse rival =
        rival_.pieces.empty() ? response : walker(0).walk.probe(rival_.pieces);
    std::vector<Walked> walks(kWalks);
    for_each_index(options_.pool, kWalks, [&](std::int64_t index, int worker) {
      walks[static_cast<std::size_t>(index)] =
          walk(generation, index, worker, share, for_rival(index) ? rival : response);
    });
    next_walk_ += kWalks;
    for (std::int64_t index = 0; index < kWalks; ++index) {
      Walked& walked = walks[static_cast<std::size_t>(index)];
      budget_.add(walked.candidates);
      double& cost = for_rival(index) ? rival_cost_ : best_cost_;
      if (walked.cost >= cost) continue;
      cost = walked.cost;
      (for_rival(index) ? rival_ : best_) = std::move(walked.best);
    }
  }

  [[nodiscard]] double ms_per_byte(int generation) const {
    const std::int64_t most = std::min(limit_.bytes, bytes_of_all(problem_.space));
    return kByteWeight * std::pow(kLaterWeight, generation) * std::abs(best_cost_) /
           static_cast<double>(std::max<std::int64_t>(1, most));
  }

  /// Walks differ in their random numbers and their temperature.
  Walked walk(int generation, std::int64_t index, int worker, const WalkBudget::Share& share,
              const CommResponse& response) {
    WalkOptions options = walk_at(evaluator_.devices(), generation, index);
    if (share.candidates > 0) options.budget = share.candidates;
    options.mix.exchange = 0;  // of all that two devices have
    if (limit_.whole_tables) options.mix.split = 0;
    Walker& own = walker(worker);
    own.cells.start(lineage(index), ms_per_byte(generation));
    const WalkBudget::Clock::time_point began = WalkBudget::Clock::now();
    WalkResult found =
        own.walk.run(lineage(index).pieces, options, response,
                     Rng(options_.seed).fork(next_walk_ + static_cast<std::uint64_t>(index)),
                     [&](std::int64_t candidates) {
                       return budget_.done(share, began, candidates, worker == 0);
                     });
    CellPlan best{std::move(found.best), own.cells.best()};
    best.cells.resize(best.pieces.size());
    return {std::move(best), found.cost, found.candidates};
  }

  /// Thousands of pieces take time beyond the limit.
  void tidy_best() {
    const WalkBudget::Clock::time_point began = WalkBudget::Clock::now();
    const std::int64_t most = std::max(kTidied, options_.evaluations / 10);
    std::int64_t evaluations = 0;
    best_ = tidy(best_, *now_, evaluations, [&] {
      if (budget_.cancelled()) return true;
      if (!paced_by_time(options_)) return evaluations >= most;
      return seconds_since(began) > kTidyShare * options_.time_limit_s;
    });
    budget_.add(evaluations);
  }

  const Problem& problem_;
  PlanEvaluator& evaluator_;
  const SearchOptions& options_;
  const Plan& start_;
  const MoveLimit& limit_;
  const HeldCells held_;
  const HostLoads hosts_;
  const int threads_;
  WalkBudget budget_;
  std::optional<ShapeCatalog> catalog_;           // of the plans so far
  std::optional<RunningPlan> now_;                // there when the catalog is
  std::vector<std::unique_ptr<Walker>> walkers_;  // one a worker, made when it is needed
  std::uint64_t next_walk_ = 0;                   // number of its stream of random numbers
  std::uint64_t cycle_ = 0;
  CellPlan best_;
  double best_cost_ = 0;
  CellPlan rival_;  // no pieces: none
  double rival_cost_ = 0;
};

}  // namespace

SearchResult replan(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
                    const Plan& now, const Plan& start, const MoveLimit& limit) {
  const SearchOptions own = with_usual_limit(options);
  SearchResult result{start, 1, false};
  if (problem.cluster.devices == 1) return result;
  // In one number of pieces, as the plan has them: a limit may leave some where they are.
  const Problem alike = with_sequence_parts(problem, sequence_parts_of(start, problem.space));
  Replanning replanning(alike, evaluator, own, now, start, limit);
  replanning.run();
  result.evaluations += replanning.candidates();
  result.stopped_early = replanning.stopped_early();
  // Sums in another order differ by rounding: what counts is the order of plan files.
  Plan plan = replanning.best();
  if (plan_cost(plan, evaluator) < plan_cost(start, evaluator)) result.plan = std::move(plan);
  return result;
}

}  // namespace neuroshard::search
