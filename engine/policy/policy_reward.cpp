#include "engine/policy/policy_reward.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace neuroshard {

Balance balance_of(std::span<const double> ms) {
  const auto [least, largest] = std::minmax_element(ms.begin(), ms.end());
  if (!(*largest > 0)) return {1, 1};
  const double mean = std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size());
  return {mean / *largest, *least / *largest};
}

double penalty_of(PolicyReward reward, const search::PlanEvaluator& evaluator,
                  const search::PlacedPlan& plan, search::Scratch& scratch) {
  double penalty = 0;
  if (reward == PolicyReward::kBalance) {
    const std::vector<double> ms(plan.compute_ms.begin(), plan.compute_ms.end());
    return 1 / balance_of(ms).mean_over_largest;
  }
  evaluator.plan_costs(plan.batch(), {&penalty, 1}, scratch);
  return penalty;
}

}  // namespace neuroshard
