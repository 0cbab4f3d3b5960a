#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/measured_plans.h"
#include "engine/policy/policy_training.h"

namespace neuroshard {

/// Where a training of a policy together with its cost networks stands. The networks are not in it:
/// they are a function of the plans. {}: at its beginning.
struct JointTrainingState {
  PolicyTrainingState policy;
  std::vector<MeasuredPlan> plans;  ///< measured so far

  friend bool operator==(const JointTrainingState&, const JointTrainingState&) = default;
};

/// How a training of so many plans and options is divided into rounds, each of which measures
/// plans, fits networks and goes on with the policy. The options must outlive it.
class JointRounds {
 public:
  JointRounds(std::int32_t plans, const PolicyTrainOptions& options)
      : plans_(plans), options_(options) {}

  /// DreamShard's own number.
  static constexpr std::int32_t kCount = 10;

  /// Plans measured when the round's networks are fitted; 0 before the first one, -1.
  [[nodiscard]] std::int64_t plans(std::int32_t round) const {
    return std::int64_t{plans_} * (round + 1) / kCount;
  }
  /// Updates done when the round ends.
  [[nodiscard]] std::int32_t updates(std::int32_t round) const {
    return static_cast<std::int32_t>(std::int64_t{options_.updates} * (round + 1) / kCount);
  }
  /// How many rounds have all their plans when so many were measured.
  [[nodiscard]] std::int32_t measured(std::int64_t plans) const;

  /// Whether a training may stand there: plans that it could have measured, and steps that it does
  /// between these. Error: kInvalidInput, what was found and expected.
  [[nodiscard]] Status check(const JointTrainingState& state, const Workload& pool) const;

  /// What the report says of each round that was measured.
  [[nodiscard]] std::vector<PolicyRound> report(const std::vector<MeasuredPlan>& plans) const;

 private:
  std::int32_t plans_;
  const PolicyTrainOptions& options_;
};

}  // namespace neuroshard
