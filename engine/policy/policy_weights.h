#pragma once

#include <span>
#include <vector>

#include "engine/core/rng.h"
#include "engine/core/table.h"
#include "engine/policy/policy_model.h"
#include "engine/policy/policy_split.h"
#include "engine/policy/policy_training.h"

namespace neuroshard {

/// The policy that a training begins with: scaling of the tables that are trained on, and random
/// weights. But for its origin.
PolicyModel first_policy(const PolicyTrainOptions& options, const Workload& pool,
                         const PolicySplit& split, Rng rng);

/// All weights in the order that training has them in: table network, head, LSTM.
std::vector<float> policy_parameters(const PolicyModel& model);
/// The reverse. REQUIRES as many as policy_parameters() gives.
void set_policy_parameters(std::span<const float> values, PolicyModel& model);

}  // namespace neuroshard
