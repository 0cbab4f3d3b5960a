#include "search/local/descent.h"

#include <algorithm>
#include <cmath>

namespace neuroshard::search {
namespace {

constexpr std::size_t kPriced = 24;  // proposals put to the cost models, a step
constexpr std::size_t kTried = 3;    // of them put to all networks
constexpr double kPairWeight = 0.2;  // of the two devices' load against the plan's cost
constexpr int kLevelSteps = 2;       // times the devices: steps that only thin out the slowest

}  // namespace

Descent::Descent(const Problem& problem, const PlanEvaluator& evaluator,
                 const ShapeCatalog& catalog)
    : memory_bytes_(problem.cluster.memory_bytes),
      plan_(problem, evaluator, catalog),
      coster_(evaluator),
      proposals_(evaluator, catalog, plan_, estimate_) {}

WalkResult Descent::run(const Assignment& start_plan, const CommResponse& response,
                        const Stop& stop) {
  start(start_plan, response);
  while (plan_.devices() > 1 && !stop(candidates_)) {
    bool made = false;
    for (const Target target : {Proposals::kReady, Proposals::kOwn, Proposals::kDims}) {
      made = proposals_.unit(target) > 0 && step(target);
      if (made) break;
    }
    if (!made) break;
  }
  return {plan_.assignment(), cost_, candidates_};
}

void Descent::start(const Assignment& start, const CommResponse& response) {
  plan_.assign(start);
  estimate_ = CostEstimate(response, 0);
  cost_ = coster_.cost(plan_.compute_ms(), plan_.dim_sums());
  estimate_.set(coster_.ready_ms(), coster_.total_ms(), plan_.dim_sums());
  candidates_ = 1;
  level_steps_ = 0;
  proposals_.start(response);
}

/// The moves worth making by the cost models of single devices, the best first.
void Descent::price_best(Target target, std::int32_t from) {
  priced_.clear();
  const double most = proposals_.load(from)[target];
  const double rounding = kRealGain * std::abs(cost_);
  for (const Proposals::Proposal& proposal : proposals_.best(target, from, kPriced)) {
    Priced found{0, proposals_.move_of(proposal)};
    ++candidates_;
    if (!price(plan_, memory_bytes_, found.move)) continue;
    const CostEstimate::Effect effect = estimate_.effect_of(plan_, found.move);
    const double pair = Proposals::Load{effect.ready_ms, effect.own_ms, effect.dims}[target];
    const double gain = proposals_.unit(target) * (most - pair);
    if (effect.cost > estimate_.cost() + rounding || gain < rounding) continue;
    found.key = effect.cost - kPairWeight * gain + effect.level;
    priced_.push_back(found);
  }
  std::stable_sort(priced_.begin(), priced_.end(),
                   [](const Priced& a, const Priced& b) { return a.key < b.key; });
}

/// Makes the move if the whole plan gets no dearer by it.
bool Descent::make(const Move& move) {
  const std::array<Edit, 3> undo = search::make(plan_, move);
  ++candidates_;
  const double cost = coster_.cost(plan_.compute_ms(), plan_.dim_sums());
  const bool gains = cost < cost_ - kRealGain * std::abs(cost_);
  const bool level = cost <= cost_ && level_steps_ < kLevelSteps * plan_.devices();
  if (gains || level) {
    level_steps_ = gains ? 0 : level_steps_ + 1;
    cost_ = cost;
    estimate_.set(coster_.ready_ms(), coster_.total_ms(), plan_.dim_sums());
    return true;
  }
  take_back(plan_, move, undo);
  return false;
}

bool Descent::step(Target target) {
  const std::int32_t from = target == Proposals::kReady ? estimate_.last_ready()
                            : target == Proposals::kOwn ? estimate_.largest_own()
                                                        : estimate_.widest();
  price_best(target, from);
  for (std::size_t k = 0; k < std::min(kTried, priced_.size()); ++k) {
    const bool made = make(priced_[k].move);
    proposals_.touch(priced_[k].move);  // taking back may have changed the order of pieces
    if (made) return true;
  }
  return false;
}

}  // namespace neuroshard::search
