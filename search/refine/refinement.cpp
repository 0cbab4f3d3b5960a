#include "search/refine/refinement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/core/elapsed.h"
#include "search/local/plan_pieces.h"
#include "search/local/random_layout.h"
#include "search/refine/last_steps.h"
#include "search/refine/usual_limit.h"
#include "search/refine/walk_temperatures.h"
#include "search/stop_check.h"
#include "search/workers.h"

namespace neuroshard::search {
namespace {

using Clock = std::chrono::steady_clock;

// golden_costs_bench: without walks of relayouts networks_64 is 0.18 % costlier, formula_64 0.18
// and dcnv2_networks_16 0.57, the others within 0.11; with them for any number of tables the
// first thirteen settings are within 0.04 % but reference_8 (-0.20).
constexpr int kRelayoutWalk = 3;  // of the kWalks, the one whose steps give tables another layout
constexpr std::int32_t kRelayoutTables = 32;    // it is worth its time for few tables only, ..
constexpr std::int32_t kRelayoutPerDevice = 4;  // .. or few a device
// Every second of those begins far from the best plan instead, and is of moves. 300 tasks of 3 to 7
// tables on 3 devices that may only be whole: 20,000 candidates missed the best plan five times, by
// 6 % at most, and 100,000 four times, by 9 %; so they never do. 300 tasks of one to three tables a
// device in little memory are 0.1 and 0.04 % cheaper (40,000 and 200,000 candidates).
constexpr std::int32_t kFarTables = 16;       // in other layouts, at most
constexpr std::int64_t kFarWalkLength = 150;  // candidates: shorter ones do not get anywhere
constexpr double kProven = 1e-5;              // share above the lower bound that is rounding

// Shorter walks do best with the default weight of the balanced load: with others, 600 candidates a
// walk gave plans of the reference's tasks on 8 devices that were 0.4 % costlier.
// (golden_costs_bench: with 8,000, the default for all, ten settings are 0.22 % costlier,
// networks_16 0.20.)
constexpr std::int64_t kLongWalk = 2000;  // candidates, or where time alone counts ..
constexpr double kLongSeconds = 1e-3;

// Walks as long as these leave the best plan's valley by a random relayout at their start. Of 12 to
// 48 generated tables (seeds 1 to 4) and DLRM-DCNv2 on 4 to 16 devices, three seeds each, h200_sim:
// with 20,000 instead, plans of 300,000 candidates are 0.3 % costlier in the mean; with 2,000 those
// of 100,000 are 0.1 % cheaper, but eight of 24 tasks are costlier by 0.2 to 1.1 %.
constexpr std::int64_t kRelayoutWalkLength = 5'000;
constexpr double kRelayoutSeconds = 4e-3;

// Every second walk moves columns between pieces and splits unevenly, where widths are free. By
// TorchRec's formula, 1,000,000 candidates, four seeds each: eight tasks of 40 to 100 DLRM tables
// on 16 devices and Criteo 1 TB on 8 are 0.29 % cheaper in the mean than with halves alone
// (Criteo 2.0), 0.26 % with all walks.
constexpr double kResize = 0.1;  // of the moves
constexpr double kUneven = 0.5;  // of the splits
// The same walks trade columns of two tables. By TorchRec's formula: 39 tasks that fill 95 and 98 %
// of 2 to 8 devices are 0.5 % cheaper than without, formula_16_replan of golden_costs_bench 1.4 (a
// share of 0.06: 0.6, 0.03: 0.05); other settings are within 0.05 %.
constexpr double kTrade = 0.1;  // of the moves

// Walks over divisions have so many steps a table at least. 166 tasks of 8 to 150 generated
// tables on 4 to 32 devices, 30,000 and 100,000 candidates, h200_sim: with 4 or 8 steps plans are
// 0.10 and 0.14 % costlier in the mean; with 0.25 0.02 %, and some by 4 to 12 %.
constexpr double kStepsPerTable = 2;
// They are for fewer tables than so many a device: of more, moves alone find out how to divide
// them. (golden_costs_bench, 160 tasks each: with any number networks_8 is 0.25 % costlier,
// networks_8_equal_columns 0.17, networks_4 0.05. 12 tasks of 70 and 100 tables on 16 devices,
// 300,000 candidates by h200_sim, are 0.8 % cheaper than without such walks.)
constexpr std::int32_t kDividedPerDevice = 7;
constexpr double kCandidatesPerSecond = 1e6;  // at least, where time alone counts

// Of the best plan's cost, what a rival from walks over divisions may cost. 100,000 candidates,
// h200_sim: without a limit 35 tasks of 50 to 150 tables on 4 and 8 devices are 0.5 % costlier,
// without any such rival 24 of 8 to 40 on 16 devices 0.3 %.
constexpr double kLittleMore = 1.005;

bool begins_with_relayout(const WalkBudget::Share& share) {
  return share.candidates > 0 ? share.candidates >= kRelayoutWalkLength
                              : share.seconds >= kRelayoutSeconds;
}

bool is_long(const WalkBudget::Share& share) {
  return share.candidates > 0 ? share.candidates >= kLongWalk : share.seconds >= kLongSeconds;
}

int round_up(int value, int step) { return (value + step - 1) / step * step; }

}  // namespace

Refinement::Refinement(const Problem& problem, const PlanEvaluator& evaluator,
                       const ShapeCatalog& catalog, const SearchOptions& options,
                       Clock::time_point began)
    : problem_(problem),
      evaluator_(evaluator),
      catalog_(catalog),
      options_(options),
      threads_(workers_of(options.pool)),
      // What time alone ends depends on the machine anyway: then no thread has to idle.
      walks_(options.evaluations == 0 ? round_up(kWalks, threads_) : kWalks),
      budget_(options, began, threads_, walks_) {
  walkers_.resize(static_cast<std::size_t>(threads_));
}

Refinement::Walkers& Refinement::walkers(int worker) {
  std::unique_ptr<Walkers>& own = walkers_[static_cast<std::size_t>(worker)];
  if (!own) {
    own.reset(new Walkers{LocalWalk(problem_, evaluator_, catalog_),
                          RelayoutWalk(problem_, evaluator_, catalog_),
                          DivisionWalk(problem_, evaluator_, catalog_)});
  }
  return *own;
}

bool is_proven(double cost, std::optional<double> bound) {
  return bound && cost <= *bound + kProven * std::abs(*bound);
}

bool Refinement::proven() const { return is_proven(best_.cost, bound_); }

bool Refinement::few_tables() const {
  const std::int64_t few = std::int64_t{kRelayoutPerDevice} * evaluator_.devices();
  return catalog_.tables() <= std::max<std::int64_t>(kRelayoutTables, few);
}

/// Half of the tables in other layouts.
Assignment Refinement::far_from_best(Rng& rng) const {
  Assignment far = best_.pieces;
  for (std::int32_t k = std::min(kFarTables, (catalog_.tables() + 1) / 2); k > 0; --k) {
    far = with_random_relayout(far, problem_, catalog_, rng);
  }
  return far;
}

/// What that walk goes on from: the coolest walk from the best plan, the next ones from rivals.
Refinement::Lineage& Refinement::lineage_of(int generation, std::int64_t index) {
  const std::int64_t rival = index % kWalks - 1;
  if (generation >= kRivalGenerations || rival < 0 || rival > std::ssize(rivals_)) return best_;
  if (rival == std::ssize(rivals_)) return divided_ ? *divided_ : best_;
  return rivals_[static_cast<std::size_t>(rival)];
}

/// Of a walk of those that are next.
Rng Refinement::rng_of(std::int64_t index) const {
  return Rng(options_.seed).fork(next_walk_ + static_cast<std::uint64_t>(index));
}

/// Walks differ in their random numbers, their temperature, and what their steps are.
WalkResult Refinement::walk(int generation, std::int64_t index, int worker,
                            const WalkBudget::Share& share) {
  WalkOptions options = walk_at(evaluator_.devices(), generation, index);
  const std::int64_t most = budget_.most_of(share, index);
  const Lineage& from = lineage_of(generation, index);
  if (most <= kShortestWalk) return {from.pieces, from.cost, 0};
  options.budget = most;
  if (is_long(share)) options.balance_weight = balance_weight(generation, index);
  if (index % 2 == 1) {
    options.mix.resize = kResize;
    options.mix.uneven = kUneven;
    options.mix.trade = kTrade;
  }
  Rng rng = rng_of(index);
  const bool relayouts_or_far = index % kWalks == kRelayoutWalk && few_tables() &&
                                (generation % 2 == 1 || !begins_with_relayout(share));
  const bool begins_far = relayouts_or_far && !begins_with_relayout(share) && generation % 2 == 0 &&
                          (share.candidates == 0 || share.candidates >= kFarWalkLength);
  const bool only_relayouts = relayouts_or_far && !begins_far;
  if (generation < kSoftGenerations && !evaluator_.additive()) {
    soften(options, only_relayouts || index % 2 == 0);
  }
  const WalkBudget::Clock::time_point began = WalkBudget::Clock::now();
  const auto progress = [&](std::int64_t candidates) {
    return budget_.done(share, began, candidates, worker == 0);
  };
  if (begins_far) {
    return walker(worker).run(far_from_best(rng), options, response_, rng, progress);
  }
  if (only_relayouts) {
    const auto within = [&](std::int64_t candidates) {
      return candidates >= most ? 1 : progress(candidates);
    };
    RelayoutWalk& relayouts = walkers(worker).relayouts;
    if (evaluator_.additive()) return relayouts.run(from.pieces, share.candidates, rng, within);
    return relayouts.run_dealing(from.pieces, share.candidates, options, response_, rng, within);
  }
  if (begins_with_relayout(share) && (generation + index) % 2 == 1) {
    const Assignment start = with_random_relayout(from.pieces, problem_, catalog_, rng);
    return walker(worker).run(start, options, response_, rng, progress);
  }
  return walker(worker).run(from.pieces, options, response_, rng, progress);
}

std::vector<WalkResult> Refinement::run_walks(const IndexedWalk& walk) {
  std::vector<WalkResult> results(static_cast<std::size_t>(walks_));
  for_each_index(options_.pool, walks_, [&](std::int64_t index, int worker) {
    results[static_cast<std::size_t>(index)] = walk(index, worker);
  });
  next_walk_ += results.size();
  for (const WalkResult& result : results) {
    budget_.add(result.candidates);
    if (options_.plans == nullptr || result.best.empty()) continue;
    if (!options_.plans->wants(result.cost)) continue;
    options_.plans->offer(
        plan_of(result.best, problem_.workload, catalog_, problem_.cluster.devices), result.cost);
  }
  return results;
}

void Refinement::run_generation(int generation, const WalkBudget::Share& share) {
  std::vector<WalkResult> results = run_walks(
      [&](std::int64_t index, int worker) { return walk(generation, index, worker, share); });
  for (std::int64_t index = 0; index < walks_; ++index) {
    WalkResult& result = results[static_cast<std::size_t>(index)];
    Lineage& own = lineage_of(generation, index);
    if (result.cost >= own.cost) continue;
    own = {std::move(result.best), result.cost};
    if (own.cost < best_.cost) std::swap(own, best_);
  }
}

bool Refinement::divisions_pay(const WalkBudget::Share& share) const {
  if (catalog_.tables() / evaluator_.devices() >= kDividedPerDevice) return false;
  const double candidates = share.candidates > 0 ? static_cast<double>(share.candidates)
                                                 : share.seconds * kCandidatesPerSecond;
  const auto step = static_cast<double>(DivisionWalk::candidates_of_step(best_.pieces.size()));
  return candidates >= kStepsPerTable * step * catalog_.tables();
}

/// Some of the next walks go on from what they find, if it costs little more than the best plan.
/// Where it costs less, it is the best plan, and these go on from the one before.
void Refinement::walk_over_divisions() {
  const WalkBudget::Share share =
      budget_.share(kDivisionGenerations + kGenerations, kDivisionGenerations);
  if (!divisions_pay(share)) return;
  std::vector<WalkResult> results = run_walks([&](std::int64_t index, int worker) {
    const WalkBudget::Clock::time_point began = WalkBudget::Clock::now();
    return walkers(worker).divisions.run(best_.pieces, budget_.most_of(share, index), response_,
                                         rng_of(index), [&](std::int64_t candidates) {
                                           return budget_.done(share, began, candidates,
                                                               worker == 0);
                                         });
  });
  const auto least =
      std::min_element(results.begin(), results.end(),
                       [](const WalkResult& a, const WalkResult& b) { return a.cost < b.cost; });
  if (!(least->cost < kLittleMore * best_.cost)) return;
  divided_ = {std::move(least->best), least->cost};
  if (divided_->cost < best_.cost) std::swap(*divided_, best_);
}

/// The response is probed anew, as the best plan may have become quite another one. (100,000
/// candidates, golden_costs_bench: 160 tasks of networks_8 and 48 of networks_8_replan are 0.2 and
/// 1.8 % cheaper than with that of the first plan, 160 of networks_16 the same. Anew in each
/// generation, networks_16 is 0.35 % costlier.)
void Refinement::run_cycle() {
  response_ = walker(0).probe(best_.pieces);
  walk_over_divisions();
  for (int left = kGenerations; left > 0 && !budget_.over() && !proven(); --left) {
    if (budget_.plans() > 0 && (budget_.used_up() || budget_.too_late())) return;
    run_generation(kGenerations - left, budget_.share(left));
  }
}

void Refinement::join_best() {
  best_.pieces = last_joins(best_.pieces, problem_, evaluator_, catalog_, options_, budget_);
  best_.cost = walker(0).cost(best_.pieces);
}

void Refinement::change_best() {
  std::int64_t most = kNoBudget;
  if (budget_.plans() > 0) {
    const double share = kChangeShare * static_cast<double>(budget_.plans());
    most = std::min(static_cast<std::int64_t>(share), budget_.left());
  }
  WalkResult found =
      last_changes(best_.pieces, problem_, evaluator_, catalog_, options_, budget_, most);
  budget_.add(found.candidates);
  if (found.cost < best_.cost) best_ = {std::move(found.best), found.cost};
}

void Refinement::add_rival(Assignment rival) {
  if (rival.empty()) return;
  const double cost = walker(0).cost(rival);
  rivals_.push_back({std::move(rival), cost});
}

void Refinement::run(Assignment start, std::int64_t evaluations_so_far,
                     std::optional<double> bound) {
  best_.pieces = std::move(start);
  bound_ = bound;
  if (budget_.over()) {
    stopped_early_ = true;
    return;
  }
  if (catalog_.host_devices() > 0)
    join_best();  // walks move no blocks: what they gain has to be first
  best_.cost = walker(0).cost(best_.pieces);
  const auto cycle = [&] {
    run_cycle();
    // So that what a search gains that ends here is not lost to a longer one.
    if (budget_.plans() == 0) return;
    join_best();
    change_best();
  };
  budget_.run_cycles(WalkBudget::Cycles::kGrowing, evaluations_so_far, kChangeShare, cycle,
                     [&] { return proven(); });
  join_best();
  if (options_.evaluations == 0) change_best();
  const bool by_time = options_.evaluations == 0 || budget_.too_late() || budget_.over();
  stopped_early_ = by_time && !proven();
}

}  // namespace neuroshard::search
