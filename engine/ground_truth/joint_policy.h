#pragma once

#include <cstdint>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/ground_truth/ground_truth.h"
#include "engine/ground_truth/joint_state.h"
#include "engine/policy/policy_training.h"

namespace neuroshard {

/// Least plans to measure: each of the rounds measures a tenth of them, and cost networks keep some
/// of the first round's to be judged by.
inline constexpr std::int32_t kLeastJointPlans = 100;

struct JointTraining {
  PolicyTraining policy;
  CostModels costs;  ///< networks, fitted to the plans that were measured
};

/// Trains a policy together with the cost networks that it learns from, as DreamShard (NeurIPS
/// 2022) does, and nothing else is known of the hardware. Ten rounds: a tenth of the plans is
/// measured, cost networks are fitted to all that was measured until then, and the policy goes on
/// to learn from them. The first round's plans are placed at random, all others are drawn by the
/// policy as it is then; all are of tables that the policy is trained on. What is kept is the best
/// policy by the last round's networks. Deterministic with a ground truth that is, unless ended
/// early. It begins at `state`, if there is one, and leaves there where it stands in the end, also
/// where it was cancelled: with the same other arguments it then goes on, and gives what it would
/// have given in one go; no plan is measured twice. Errors: as train_policy(), kInvalidInput for
/// fewer plans than kLeastJointPlans, one device, and a state that no such training comes to, and
/// those of the ground truth; kCancelled before the first networks.
Result<JointTraining> train_joint_policy(GroundTruth& truth, const Workload& pool,
                                         std::int32_t plans, const PolicyTrainOptions& options,
                                         const PolicyTrainControl& control,
                                         JointTrainingState* state = nullptr);

}  // namespace neuroshard
