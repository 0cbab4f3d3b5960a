#include "search/local/local_walk.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "search/local/allowance.h"

namespace neuroshard::search {
namespace {

// golden_costs_bench, means of ten settings: 8 candidates +0.04 %, 128 +0.01 (reference_8 +0.24,
// -0.05); 16 or 256 moves at most, within 0.003 on each; 1.5 times more moves +0.07 (networks_64
// +0.22); 0.5 times fewer +0.06 (dcnv2_networks_16 +0.61, reference_8 -0.26).
constexpr int kCandidatesPerMove = 32;    // looked at, at most, for one that passes
constexpr double kMostMovesPerPlan = 64;  // between two evaluations of the whole plan
constexpr double kMoreMoves = 1.2;        // after a plan that stands
constexpr double kFewerMoves = 0.7;       // after one taken back

// Of the candidates. 40 generated tables (seeds 1 to 4) on 4, 8 and 16 devices, h200_sim: without
// deals plans of 300,000 candidates are 1.4 % costlier in the mean, of 1,000,000 0.6 (three seeds),
// of 10,000,000 0.5 (two); with 0.05 the last are 0.3 % cheaper, with 0.01 those of 300,000 0.4 %
// costlier. (All of it with deals that cut nothing. Those that do are worth nothing in the mean of
// 24 such tasks at 300,000, and 1 % of DLRM-DCNv2 on 8 devices at 2,000,000.) Where costs add up,
// widths do not matter.
constexpr double kDeals = 0.03;

}  // namespace

WalkOptions default_walk(std::int32_t devices) {
  WalkOptions options;
  // golden_costs_bench: 1e-3 is 0.09 % costlier in the mean of ten settings (dcnv2_networks_16
  // +0.91, networks_64 -0.22).
  options.first_temperature = 2e-3 / std::sqrt(static_cast<double>(devices));
  options.last_temperature = options.first_temperature * 0.03;
  return options;
}

int norm_at(const WalkOptions& options, double done) {
  const int norms = options.last_norm - options.first_norm + 1;
  return std::min(options.last_norm,
                  options.first_norm + static_cast<int>(done * static_cast<double>(norms)));
}

double temperature_at(const WalkOptions& options, double done) {
  const double cooling = std::log(options.last_temperature / options.first_temperature);
  return options.first_temperature * std::exp(cooling * done);
}

LocalWalk::LocalWalk(const Problem& problem, const PlanEvaluator& evaluator,
                     const ShapeCatalog& catalog, MoveGuard* guard)
    : evaluator_(evaluator),
      memory_bytes_(problem.cluster.memory_bytes),
      guard_(guard),
      plan_(problem, evaluator, catalog),
      coster_(evaluator),
      dealer_(evaluator, problem.cluster.memory_bytes),
      deals_pairs_(guard == nullptr && !evaluator.additive()) {}

double LocalWalk::cost(const Assignment& assignment) {
  plan_.assign(assignment);
  return coster_.cost(plan_);
}

CommResponse LocalWalk::probe(const Assignment& assignment) {
  plan_.assign(assignment);
  Scratch scratch;
  return probe_response(plan_.batch(), evaluator_, scratch);
}

WalkResult LocalWalk::run(const Assignment& start, const WalkOptions& options,
                          const CommResponse& response, Rng rng, const WalkProgress& progress) {
  best_cost_ = cost(start);
  ready_ms_ = coster_.ready_ms();
  total_ms_ = coster_.total_ms();
  journal_.clear();
  best_in_journal_ = true;
  candidates_ = 1;
  moves_per_plan_ = 1;
  estimate_ = CostEstimate(response, options.balance_weight);
  int norm = options.first_norm;
  begin_objective(norm, options.soft_dims);
  const MoveSource source(options.mix, memory_bytes_, evaluator_.devices_alike());
  const double start_cost = std::abs(best_cost_);
  // Two more: a move, and the whole plan after it.
  for (double done = progress(candidates_);
       done < 1 && plan_.devices() > 1 && candidates_ <= options.budget - 2;
       done = progress(candidates_)) {
    const double temperature = temperature_at(options, done) * start_cost;
    if (const int now = norm_at(options, done); now != norm) {
      norm = now;
      begin_objective(norm, options.soft_dims);
    }
    const std::size_t standing = journal_.size();
    if (!wander(source, temperature, options.budget, rng)) continue;
    if (!verify(temperature, rng)) {
      take_back_to(standing);
      if (guard_ != nullptr) guard_->take_back();
      estimate_.set(ready_ms_, total_ms_, plan_.dim_sums());
      continue;
    }
    trim_journal();
  }
  return {best(), best_cost_, candidates_};
}

/// From the plan that stands.
void LocalWalk::begin_objective(int norm, bool soft_dims) {
  estimate_.soften(norm, soft_dims);
  estimate_.set(ready_ms_, total_ms_, plan_.dim_sums());
  standing_objective_ = objective();
}

double LocalWalk::objective() const {
  return estimate_.objective() + (guard_ == nullptr ? 0 : guard_->weight_ms());
}

/// Makes moves that the estimate lets pass; false when there was none.
bool LocalWalk::wander(const MoveSource& source, double temperature, std::int64_t budget,
                       Rng& rng) {
  const int moves = static_cast<int>(moves_per_plan_);
  const std::int64_t looks =
      std::min<std::int64_t>(kCandidatesPerMove * moves, budget - candidates_ - 1);
  int made = 0;
  Move move;
  std::array<std::int32_t, 2> busiest{estimate_.busiest(false), estimate_.busiest(true)};
  for (std::int64_t k = 0; k < looks && made < moves; ++k) {
    ++candidates_;
    const std::int32_t first = busiest[static_cast<std::size_t>(k % 2)];
    const bool deals = deals_pairs_ && rng.uniform() < kDeals;
    if (!(deals ? dealer_.draw(plan_, first, rng, move) : source.draw(plan_, first, rng, move))) {
      continue;
    }
    const Allowance allowance(temperature, rng);
    const double price = guard_ == nullptr ? 0 : guard_->price_ms(plan_, move);
    if (!allowance.lets(estimate_.objective_after(plan_, move) + price, estimate_.objective())) {
      continue;
    }
    if (guard_ != nullptr) guard_->make();
    estimate_.accept(plan_, move);
    for (int edit = 0; edit < move.edit_count; ++edit) {
      journal_.push_back(plan_.apply(move.edits[static_cast<std::size_t>(edit)]));
    }
    if (deals) dealer_.make(plan_, journal_);
    busiest = {estimate_.busiest(false), estimate_.busiest(true)};
    ++made;
  }
  return made > 0;
}

/// Costs the whole plan; false when it is not good enough to stand.
bool LocalWalk::verify(double temperature, Rng& rng) {
  ++candidates_;
  const double cost = coster_.cost(plan_);
  estimate_.set(coster_.ready_ms(), coster_.total_ms(), plan_.dim_sums());
  const bool stands = Allowance(temperature, rng).lets(objective(), standing_objective_);
  moves_per_plan_ =
      std::clamp(moves_per_plan_ * (stands ? kMoreMoves : kFewerMoves), 1.0, kMostMovesPerPlan);
  if (!stands) return false;
  standing_objective_ = objective();
  ready_ms_ = coster_.ready_ms();
  total_ms_ = coster_.total_ms();
  const bool best = cost < best_cost_ - kRealGain * std::abs(best_cost_);
  if (best) {
    best_cost_ = cost;
    new_best();
  }
  if (guard_ != nullptr) guard_->stand(best);
  return true;
}

void LocalWalk::take_back_to(std::size_t size) {
  while (journal_.size() > size) {
    const Edit undo = journal_.back();
    journal_.pop_back();
    plan_.apply(undo);
  }
}

void LocalWalk::new_best() {
  journal_.clear();
  best_in_journal_ = true;
}

/// A journal much longer than the plan becomes a copy of the best plan, so that neither noting an
/// improvement nor keeping it costs more than a few steps of each move.
void LocalWalk::trim_journal() {
  if (!best_in_journal_) {
    journal_.clear();
    return;
  }
  if (journal_.size() < 64 + 2 * plan_.numbers()) return;
  best_ = best();
  best_in_journal_ = false;
  journal_.clear();
}

Assignment LocalWalk::best() const {
  if (!best_in_journal_) return best_;
  Assignment assignment = plan_.assignment();
  for (auto undo = journal_.rbegin(); undo != journal_.rend(); ++undo) {
    take_back(*undo, assignment);
  }
  return assignment;
}

}  // namespace neuroshard::search
