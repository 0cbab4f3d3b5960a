#pragma once

#include <string>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/policy/policy_training.h"

namespace neuroshard {

/// Trains a policy on random tasks of the pool, under the costs of `models` alone: nothing is
/// measured. Some of the tables are held out, split_tables(), for tasks that say which update is
/// kept. First the network imitates the best plan of some greedy rules, then it learns by
/// REINFORCE. The same arguments give the same policy, bit for bit, on the same kind of processor,
/// unless a time limit or the caller ends it. It begins at `state`, if there is one, and leaves
/// there where it stands in the end, also where it was cancelled: with the same other arguments it
/// then goes on, and gives what it would have given in one go. Errors: kInvalidInput for options
/// out of range, too few tables, tables that cannot be placed, cost models that do not fit the pool
/// or the numbers of devices, and a state of another size; kCancelled before the first look.
Result<PolicyTraining> train_policy(const Workload& pool, const CostModels& models,
                                    const PolicyTrainOptions& options,
                                    const PolicyTrainControl& control,
                                    PolicyTrainingState* state = nullptr);

/// {"format": "neuroshard-policy-training", "version": 1, options, tables, the curve}.
/// Deterministic.
std::string format_policy_training(const PolicyTrainOptions& options, const PolicyModel& model,
                                   const PolicyReport& report);

}  // namespace neuroshard
