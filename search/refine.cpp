#include "search/refine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "search/feasibility.h"
#include "search/local/join.h"
#include "search/local/local_walk.h"
#include "search/local/redraw.h"
#include "search/local/redraw_walk.h"
#include "search/local/shape_catalog.h"
#include "search/lower_bound.h"
#include "search/refine_fast.h"
#include "search/refine_start.h"
#include "search/stop_check.h"
#include "search/workers.h"

namespace neuroshard::search {
namespace {

using Clock = std::chrono::steady_clock;

// Found best on the reference tasks and small ones, at 60,000 candidates a task.
constexpr int kGenerations = 8;
constexpr int kWalks = 4;                   // of a generation, or the next multiple of the threads
constexpr int kRedrawWalk = 3;              // of the kWalks, the one whose steps redraw tables
constexpr std::int32_t kRedrawTables = 32;  // it is worth its time for few tables only
constexpr double kLaterHeat = 0.5;          // of the generations after the first, of its heat
constexpr double kHottestWalk = 30;         // times the coolest, of the kWalks
constexpr double kCycleGrowth = 2;          // of a cycle's seconds, over the one before
constexpr double kLateness = 2;        // times a walk's share of the time: the budget is too large
constexpr double kNoTimeLimit = 1e8;   // seconds, as in StopCheck
constexpr double kStartShare = 0.5;    // of the time left after the fast plan, for the others
constexpr double kStartSeconds = 0.1;  // or this much, if there is
constexpr double kFullEffortSeconds = 0.4;  // of the others
constexpr std::string_view kNoBaselines = "the baselines and the paper's search";
constexpr std::string_view kNoBeam = "the paper's search";
constexpr double kLeastForBound = 0.3;  // seconds left, for a lower bound to end the search by
constexpr double kProven = 1e-5;        // share above the lower bound that is rounding
constexpr double kReportSeconds = 0.1;  // between two progress reports

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One search: the walks, their shares of the budget, and the best plan they have found.
class Refinement {
 public:
  Refinement(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
             const SearchOptions& options, Clock::time_point began);

  /// Ends early at a plan of cost `bound`, below which there is none.
  void run(Assignment start, std::int64_t evaluations_so_far, double bound);

  [[nodiscard]] const Assignment& best() const { return best_; }
  [[nodiscard]] std::int64_t candidates() const { return candidates_; }
  [[nodiscard]] bool stopped_early() const { return stopped_early_; }

 private:
  struct Share {
    std::int64_t candidates = 0;  // 0: no limit
    double seconds = 0;           // 0: no limit
  };

  [[nodiscard]] bool timed() const { return options_.time_limit_s > 0; }
  [[nodiscard]] bool over() const;
  [[nodiscard]] bool proven() const { return best_cost_ <= bound_ * (1 + kProven); }
  struct Walkers {
    LocalWalk walk;
    RedrawWalk redraws;
  };
  LocalWalk& walker(int worker) { return walkers(worker).walk; }
  Walkers& walkers(int worker);
  [[nodiscard]] Share share(int generation) const;
  void run_cycle();
  void run_generation(int generation);
  WalkResult walk(int generation, std::int64_t index, int worker, const Share& share);
  void report(const Share& share, std::int64_t candidates);

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const SearchOptions& options_;
  const Clock::time_point began_;
  const int threads_;
  const int walks_;
  std::vector<std::unique_ptr<Walkers>> walkers_;  // one a worker, made when it is needed
  CommResponse response_;
  std::int64_t budget_ = 0;      // candidates of the cycle; 0: no limit
  double cycle_end_ = 0;         // seconds after began_
  std::uint64_t next_walk_ = 0;  // number of its stream of random numbers
  Assignment best_;
  double best_cost_ = 0;
  double bound_ = 0;
  std::int64_t candidates_ = 0;
  bool stopped_early_ = false;
  std::atomic<bool> too_late_ = false;  // for the budget to be used up within the time
  double reported_ = 0;
};

int round_up(int value, int step) { return (value + step - 1) / step * step; }

Refinement::Refinement(const Problem& problem, const PlanEvaluator& evaluator,
                       const ShapeCatalog& catalog, const SearchOptions& options,
                       Clock::time_point began)
    : problem_(problem),
      evaluator_(evaluator),
      catalog_(catalog),
      options_(options),
      began_(began),
      threads_(workers_of(options.pool)),
      // What time alone ends depends on the machine anyway: then no thread has to idle.
      walks_(options.evaluations == 0 ? round_up(kWalks, threads_) : kWalks) {
  walkers_.resize(static_cast<std::size_t>(threads_));
}

Refinement::Walkers& Refinement::walkers(int worker) {
  std::unique_ptr<Walkers>& own = walkers_[static_cast<std::size_t>(worker)];
  if (!own) {
    own.reset(new Walkers{LocalWalk(problem_, evaluator_, catalog_),
                          RedrawWalk(problem_, evaluator_, catalog_)});
  }
  return *own;
}

bool Refinement::over() const {
  return (options_.cancel != nullptr && options_.cancel->cancelled()) ||
         (timed() && seconds_since(began_) >= options_.time_limit_s);
}

Refinement::Share Refinement::share(int generation) const {
  Share share;
  if (budget_ > 0) {
    share.candidates = std::max<std::int64_t>(1, budget_ / (kGenerations * walks_));
  }
  if (timed()) {
    const int in_turn = (walks_ + threads_ - 1) / threads_;
    const double left = std::max(0.0, cycle_end_ - seconds_since(began_));
    share.seconds = std::max(1e-6, left / ((kGenerations - generation) * in_turn));
  }
  return share;
}

void Refinement::report(const Share& share, std::int64_t candidates) {
  if (options_.progress == nullptr) return;
  const double now = seconds_since(began_);
  if (now - reported_ < kReportSeconds) return;
  reported_ = now;
  if (budget_ == 0) {
    options_.progress->update("refine", static_cast<std::int64_t>(now),
                              static_cast<std::int64_t>(std::ceil(options_.time_limit_s)), "s");
  } else {
    options_.progress->update("refine", candidates_ + candidates,
                              share.candidates * walks_ * kGenerations, "candidates");
  }
}

/// Walks differ in their random numbers, their heat, and whether a table is redrawn first.
WalkResult Refinement::walk(int generation, std::int64_t index, int worker, const Share& share) {
  WalkOptions options = default_walk(evaluator_.devices());
  if (generation > 0) options.first_heat *= kLaterHeat;
  options.first_heat *= std::pow(kHottestWalk, static_cast<double>(index % kWalks) / (kWalks - 1));
  Rng rng = Rng(options_.seed).fork(next_walk_ + static_cast<std::uint64_t>(index));
  const bool redraws = (generation + index) % 2 == 1;
  const bool only_redraws =
      index % kWalks == kRedrawWalk && generation % 2 == 1 && catalog_.tables() <= kRedrawTables;
  const Assignment start =
      redraws && !only_redraws ? redraw_table(best_, problem_, catalog_, rng) : best_;
  const Clock::time_point began = Clock::now();
  const auto progress = [&](std::int64_t candidates) {
    if (options_.cancel != nullptr && options_.cancel->cancelled()) return 1.0;
    if (worker == 0) report(share, candidates);
    const double time = share.seconds > 0 ? seconds_since(began) / share.seconds : 0;
    if (share.candidates == 0) return time;
    // Time never paces a budget, so that a limit not reached changes nothing.
    if (time > kLateness) too_late_ = true;
    if (too_late_) return 1.0;
    return static_cast<double>(candidates) / static_cast<double>(share.candidates);
  };
  if (only_redraws) {
    return walkers(worker).redraws.run(start, share.candidates, rng, [&](std::int64_t candidates) {
      return progress(candidates) >= 1;
    });
  }
  return walker(worker).run(start, options, response_, rng, progress);
}

void Refinement::run_generation(int generation) {
  const Share own = share(generation);
  std::vector<WalkResult> results(static_cast<std::size_t>(walks_));
  for_each_index(options_.pool, walks_, [&](std::int64_t index, int worker) {
    results[static_cast<std::size_t>(index)] = walk(generation, index, worker, own);
  });
  next_walk_ += results.size();
  for (WalkResult& result : results) {
    candidates_ += result.candidates;
    if (result.cost >= best_cost_) continue;
    best_cost_ = result.cost;
    best_ = std::move(result.best);
  }
}

void Refinement::run_cycle() {
  for (int generation = 0; generation < kGenerations && !over() && !proven(); ++generation) {
    if (budget_ > 0 && too_late_) return;
    run_generation(generation);
  }
}

/// A budget of candidates is one cycle. Time is dealt out in longer and longer ones, the last to
/// the limit, so that whoever interrupts a long search has the plan of a finished one. A budget too
/// large for the time limit is given up early for what time is left, all of which is then used.
void Refinement::run(Assignment start, std::int64_t evaluations_so_far, double bound) {
  best_ = std::move(start);
  bound_ = bound;
  if (over()) {
    stopped_early_ = true;
    return;
  }
  best_cost_ = walker(0).cost(best_);
  response_ = walker(0).probe(best_);
  cycle_end_ = options_.time_limit_s;
  if (options_.evaluations > 0) {
    budget_ = options_.evaluations - evaluations_so_far;
    if (budget_ > 0) run_cycle();
    budget_ = 0;
  }
  if (options_.evaluations == 0 || too_late_) {
    for (double length = kRefineSeconds; !over() && !proven(); length *= kCycleGrowth) {
      const double end = seconds_since(began_) + length;
      const bool last = end + kCycleGrowth * length > options_.time_limit_s;
      cycle_end_ = last ? options_.time_limit_s : end;
      run_cycle();
    }
  }
  best_ = join_pieces(best_, problem_, evaluator_, catalog_);
  stopped_early_ = over() && !proven();
}

struct Start {
  StartPlan plan;
  std::string_view skipped;
};

/// The fast plan, or that of the baselines and the paper's search if it is cheaper, as far as there
/// is time for them.
Result<Start> first_plan(const Problem& problem, PlanEvaluator& evaluator,
                         const ShapeCatalog& catalog, const SearchOptions& options,
                         Clock::time_point began) {
  const StopCheck stop(options);
  std::optional<FastPlan> fast = fast_plan(problem, evaluator, catalog, stop);
  std::optional<StartPlan> best;
  if (fast) {
    best = StartPlan{plan_of(fast->pieces, problem.workload, catalog, problem.cluster.devices), 0,
                     fast->evaluations, false};
    best->cost = plan_cost(best->plan, evaluator);
    if (stop.stop()) {
      best->stopped_early = true;
      return Start{*std::move(best), kNoBaselines};
    }
  }
  SearchOptions rest = options;
  double effort = 1;
  if (options.time_limit_s > 0) {
    rest.time_limit_s = std::max(1e-6, kStartShare * (options.time_limit_s - seconds_since(began)));
    if (options.evaluations == 0) effort = std::min(1.0, rest.time_limit_s / kFullEffortSeconds);
  }
  Result<StartPlan> other = best_start(problem, evaluator, rest, effort);
  if (!other.ok() && !best) return other.status();
  if (other.ok()) {
    const std::int64_t evaluations = other->evaluations + (best ? best->evaluations : 0);
    if (!best || other->cost < best->cost) best = std::move(other).value();
    best->evaluations = evaluations;
  }
  const bool shortened = effort < 1 && !effort_splits(problem, effort);
  return Start{*std::move(best), shortened ? kNoBeam : std::string_view()};
}

}  // namespace

Result<SearchResult> shard_refine(const Problem& problem, PlanEvaluator& evaluator,
                                  const SearchOptions& options) {
  const Clock::time_point began = Clock::now();
  SearchOptions own = options;
  if (own.time_limit_s <= 0 && own.evaluations <= 0) own.time_limit_s = kRefineSeconds;
  if (own.time_limit_s > kNoTimeLimit) own.time_limit_s = kNoTimeLimit;
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_finest_pieces(problem));
  const ShapeCatalog catalog(problem.workload, evaluator, own.cancel);
  if (problem.cluster.devices == 1 || !catalog.complete()) {
    NEUROSHARD_ASSIGN_OR_RETURN(StartPlan start, best_start(problem, evaluator, own));
    return SearchResult{std::move(start.plan), start.evaluations,
                        start.stopped_early || !catalog.complete()};
  }
  NEUROSHARD_ASSIGN_OR_RETURN(Start start, first_plan(problem, evaluator, catalog, own, began));
  SearchResult result{std::move(start.plan.plan), start.plan.evaluations, start.plan.stopped_early,
                      start.skipped};
  Assignment pieces = pieces_of(result.plan, problem.workload, catalog);
  if (pieces.empty()) return result;
  const bool has_time =
      own.time_limit_s <= 0 || own.time_limit_s - seconds_since(began) >= kLeastForBound;
  const double bound = has_time ? lower_bound(problem, evaluator).value_or(0) : 0;
  Refinement refinement(problem, evaluator, catalog, own, began);
  refinement.run(std::move(pieces), start.plan.evaluations, bound);
  result.evaluations += refinement.candidates();
  result.stopped_early = result.stopped_early || refinement.stopped_early();
  // Sums in another order differ by rounding: what counts is the order of plan files.
  Plan plan = plan_of(refinement.best(), problem.workload, catalog, problem.cluster.devices);
  if (plan_cost(plan, evaluator) <= start.plan.cost) result.plan = std::move(plan);
  return result;
}

}  // namespace neuroshard::search
