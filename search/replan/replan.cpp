#include "search/replan/replan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/held_cells.h"
#include "search/local/local_walk.h"
#include "search/plan_cost.h"
#include "search/refine/refine.h"
#include "search/refine/walk_pace.h"
#include "search/replan/moved_cells.h"
#include "search/replan/near_plan.h"
#include "search/replan/partial_plan.h"
#include "search/replan/tidy.h"
#include "search/stop_check.h"
#include "search/workers.h"

namespace neuroshard::search {
namespace {

constexpr int kGenerations = 8;
constexpr int kWalks = 4;            // of a generation
constexpr double kLaterHeat = 0.5;   // of the generations after the first, of its heat
constexpr double kHottestWalk = 30;  // times the coolest, of the kWalks
// Share of the cost that as many bytes weigh as may move, so that what gains nothing stays where it
// is, and of that in each generation over the one before.
constexpr double kByteWeight = 0.02;
constexpr double kLaterWeight = 0.5;
constexpr int kRivalGenerations = 4;              // first ones, that go on from two plans
constexpr int kFreshPart = 4;                     // of the budget, for a plan from nothing
constexpr double kFreshShare = 1.0 / kFreshPart;  // of the time

class Replanning {
 public:
  Replanning(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
             const HeldCells& held, std::int64_t limit_bytes, const SearchOptions& options,
             std::chrono::steady_clock::time_point began)
      : problem_(problem),
        evaluator_(evaluator),
        catalog_(catalog),
        held_(held),
        limit_bytes_(limit_bytes),
        options_(options),
        threads_(workers_of(options.pool)),
        pace_(options, began, threads_, kWalks, "replan"),
        walkers_(static_cast<std::size_t>(threads_)) {}

  /// From `now` or, if that is known, `partial`, whichever leads further.
  void run(CellPlan now, std::optional<CellPlan> partial, std::int64_t evaluations_so_far) {
    best_ = std::move(now);
    best_cost_ = walker(0).walk.cost(best_.pieces);
    if (partial) {
      rival_ = *std::move(partial);
      rival_cost_ = walker(0).walk.cost(rival_.pieces);
    }
    pace_.run_cycles(
        evaluations_so_far, [&] { run_cycle(); }, [] { return false; });
    take_better();
    best_ = tidy(best_, held_, problem_, evaluator_, catalog_, [&] { return pace_.cancelled(); });
  }

  [[nodiscard]] const CellPlan& best() const { return best_; }
  [[nodiscard]] std::int64_t candidates() const { return pace_.candidates(); }
  [[nodiscard]] bool stopped_early() const { return pace_.over(); }

 private:
  struct Walker {
    Walker(const Replanning& of)
        : cells(of.held_, of.catalog_, of.limit_bytes_),
          walk(of.problem_, of.evaluator_, of.catalog_, &cells) {}
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
    if (!own) own = std::make_unique<Walker>(*this);
    return *own;
  }

  void run_cycle() {
    for (int left = kGenerations; left > 0 && !pace_.over(); --left) {
      if (pace_.budget() > 0 && pace_.too_late()) return;
      run_generation(kGenerations - left, pace_.share(1, left));
    }
  }

  /// The first generations go on from two plans.
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

  void run_generation(int generation, const WalkPace::Share& share) {
    if (generation >= kRivalGenerations) take_better();
    const std::array<CommResponse, 2> responses{walker(0).walk.probe(lineage(0).pieces),
                                                walker(0).walk.probe(lineage(1).pieces)};
    std::vector<Walked> walks(kWalks);
    for_each_index(options_.pool, kWalks, [&](std::int64_t index, int worker) {
      walks[static_cast<std::size_t>(index)] =
          walk(generation, index, worker, share, responses[index % 2]);
    });
    next_walk_ += kWalks;
    for (std::int64_t index = 0; index < kWalks; ++index) {
      Walked& walked = walks[static_cast<std::size_t>(index)];
      pace_.add(walked.candidates);
      double& cost = for_rival(index) ? rival_cost_ : best_cost_;
      if (walked.cost >= cost) continue;
      cost = walked.cost;
      (for_rival(index) ? rival_ : best_) = std::move(walked.best);
    }
  }

  /// Walks differ in their random numbers and their heat.
  Walked walk(int generation, std::int64_t index, int worker, const WalkPace::Share& share,
              const CommResponse& response) {
    WalkOptions options = default_walk(evaluator_.devices());
    options.mix.exchange = 0;  // of all that two devices have
    if (generation > 0) options.first_heat *= kLaterHeat;
    options.first_heat *= std::pow(kHottestWalk, static_cast<double>(index) / (kWalks - 1));
    Walker& own = walker(worker);
    const double weight = kByteWeight * std::pow(kLaterWeight, generation) * best_cost_;
    const auto most = static_cast<double>(std::max<std::int64_t>(1, limit_bytes_));
    own.cells.start(lineage(index), weight / most);
    const WalkPace::Clock::time_point began = WalkPace::Clock::now();
    WalkResult found = own.walk.run(
        lineage(index).pieces, options, response,
        Rng(options_.seed).fork(next_walk_ + static_cast<std::uint64_t>(index)),
        [&](std::int64_t candidates) { return pace_.done(share, began, candidates, worker == 0); });
    CellPlan best{std::move(found.best), own.cells.best()};
    best.cells.resize(best.pieces.size());
    return {std::move(best), found.cost, found.candidates};
  }

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const HeldCells& held_;
  const std::int64_t limit_bytes_;
  const SearchOptions& options_;
  const int threads_;
  WalkPace pace_;
  std::vector<std::unique_ptr<Walker>> walkers_;  // one a worker, made when it is needed
  std::uint64_t next_walk_ = 0;                   // number of its stream of random numbers
  CellPlan best_;
  double best_cost_ = 0;
  CellPlan rival_;  // no pieces: none
  double rival_cost_ = 0;
};

/// A plan from nothing, as far as the limit lets it be: what walks from `now` would have to become
/// dearer for on their way.
std::optional<CellPlan> partial_start(const Problem& problem, PlanEvaluator& evaluator,
                                      const ShapeCatalog& catalog, const HeldCells& held,
                                      const Plan& now, std::int64_t limit_bytes,
                                      const SearchOptions& options, std::int64_t& evaluations) {
  SearchOptions share = options;
  share.row_splits = RowSplits::kOff;
  share.replicate = false;
  share.time_limit_s *= kFreshShare;
  if (options.evaluations > 0) {
    share.evaluations = std::max<std::int64_t>(1, options.evaluations / kFreshPart);
  }
  Result<SearchResult> fresh = shard_refine(problem, evaluator, share);
  if (!fresh.ok()) return std::nullopt;
  evaluations += fresh->evaluations;
  canonicalize(fresh->plan);
  const std::vector<Table>& tables = problem.workload.tables;
  const bool alike = evaluator.devices_alike() &&
                     std::all_of(tables.begin(), tables.end(),
                                 [](const Table& table) { return table.devices.all(); });
  const Plan near = brought_near(fresh->plan, now, problem.workload, alike);
  const StopCheck stop(share);
  return partial_plan(near, now, held, problem, evaluator, catalog, limit_bytes,
                      [&] { return stop.stop(); });
}

}  // namespace

SearchResult replan(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options,
                    const Plan& now, std::int64_t limit_bytes) {
  SearchOptions own = options;
  if (own.time_limit_s <= 0 && own.evaluations <= 0) own.time_limit_s = kRefineSeconds;
  if (own.time_limit_s > kNoTimeLimit) own.time_limit_s = kNoTimeLimit;
  const ShapeCatalog catalog = ShapeCatalog::around(now, problem.workload, evaluator, own.cancel);
  SearchResult result{now, 1, !catalog.complete()};
  if (problem.cluster.devices == 1 || !catalog.complete()) return result;
  const HeldCells held(problem.workload, now);
  const auto began = std::chrono::steady_clock::now();
  std::optional<CellPlan> partial =
      partial_start(problem, evaluator, catalog, held, now, limit_bytes, own, result.evaluations);
  Replanning replanning(problem, evaluator, catalog, held, limit_bytes, own, began);
  replanning.run(cells_of(now, catalog), std::move(partial), result.evaluations);
  result.evaluations += replanning.candidates();
  result.stopped_early = replanning.stopped_early();
  // Sums in another order differ by rounding: what counts is the order of plan files.
  Plan plan = plan_of(replanning.best(), catalog, problem.cluster.devices);
  if (plan_cost(plan, evaluator) < plan_cost(now, evaluator)) result.plan = std::move(plan);
  return result;
}

}  // namespace neuroshard::search
