#include "engine/ground_truth/joint_state.h"

#include <cmath>
#include <limits>
#include <string>

namespace neuroshard {

std::int32_t JointRounds::measured(std::int64_t plans) const {
  std::int32_t rounds = 0;
  while (rounds < kCount && this->plans(rounds) <= plans) ++rounds;
  return rounds;
}

Status JointRounds::check(const JointTrainingState& state, const Workload& pool) const {
  const std::int64_t count = std::ssize(state.plans);
  if (count > plans_) {
    return invalid_input("measured plans: found " + std::to_string(count) + ", expected at most " +
                         std::to_string(plans_));
  }
  for (std::size_t k = 0; k < state.plans.size(); ++k) {
    const Status measured = check_measured_plan(state.plans[k], pool, options_.tasks);
    if (!measured.ok()) return measured.with_context("measured plan " + std::to_string(k));
  }
  // Updates end each round, so that the next one's plans are drawn by the policy of that moment.
  const std::int32_t rounds = measured(count);
  const std::int64_t imitations = options_.imitations;
  const std::int64_t most = rounds == 0 ? 0 : imitations + updates(rounds - 1);
  std::int64_t least = most;
  if (count == plans(rounds - 1)) least = rounds <= 1 ? 0 : imitations + updates(rounds - 2);
  if (state.policy.steps >= least && state.policy.steps <= most) return {};
  return invalid_input("steps: found " + std::to_string(state.policy.steps) + ", expected from " +
                       std::to_string(least) + " to " + std::to_string(most) + " after " +
                       std::to_string(count) + " measured plans");
}

std::vector<PolicyRound> JointRounds::report(const std::vector<MeasuredPlan>& plans) const {
  std::vector<PolicyRound> rounds;
  const std::int32_t count = measured(std::ssize(plans));
  for (std::int32_t round = 0; round < count; ++round) {
    const std::int64_t begin = this->plans(round - 1);
    const std::int64_t end = this->plans(round);
    const auto of_round = static_cast<double>(end - begin);
    PolicyRound told{end, 0, round == 0 ? std::numeric_limits<double>::quiet_NaN() : 0};
    for (std::int64_t number = begin; number < end; ++number) {
      const MeasuredPlan& plan = plans[static_cast<std::size_t>(number)];
      const double cost = measured_ms(plan);
      told.measured_ms += cost / of_round;
      told.error += std::fabs(plan.predicted_ms / cost - 1) / of_round;
    }
    rounds.push_back(told);
  }
  return rounds;
}

}  // namespace neuroshard
