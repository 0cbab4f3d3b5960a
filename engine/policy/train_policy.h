#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/policy/policy_model.h"

namespace neuroshard {

/// How a policy is trained. Rates, entropy and numbers of steps are those that were best on 256
/// generated tables, after training on 600 of Meta's by h100_sim: twice the rate, the steps or the
/// units gained 0.3 % at most, half the rate lost 1.6 %.
struct PolicyTrainOptions {
  PolicyKind kind = PolicyKind::kDreamshard;
  PolicyReward reward = PolicyReward::kCost;
  PolicyTasks tasks;
  std::int32_t updates = 2000;    ///< steps of the optimizer after imitation
  std::int32_t episodes = 16;     ///< plans drawn of each task
  std::int32_t imitations = 300;  ///< steps that learn the teacher's plans, before all others
  std::int32_t batch = 8;         ///< tasks a step
  std::int32_t hidden = 32;       ///< units behind the sum over a device, a multiple of 8
  double learning_rate = 4e-3;    ///< Adam's; falls to 0 with the updates
  double entropy = 0.001;
  std::uint64_t seed = 0;
};

/// Ranges of the options: the message names the option, what was found and what was expected.
Status validate(const PolicyTrainOptions& options);
/// What a thread keeps of a task's plans, their choices among devices, is limited to this, bytes.
inline constexpr std::int64_t kMostTrainingBytes = std::int64_t{1} << 31;
/// Pieces x devices that a task may have for that.
std::int64_t most_choices(const PolicyTrainOptions& options);
/// Whether the pool is valid and has tables enough to train on such tasks, and for some that are
/// held out.
Status check_policy_pool(const Workload& pool, const PolicyTasks& tasks);

/// One look at the held-out tasks.
struct PolicyPoint {
  std::int32_t update = 0;  ///< from 0, before the first; imitation comes before that
  double drawn_share = 0;   ///< mean penalty of plans drawn since the last look, over the teacher's
  double entropy = 0;       ///< mean of the choices since then, nats
  double validation_share = 0;  ///< the same of the policy's plans of held-out tasks
};

/// What a training did. Holds no times: equal trainings have equal reports.
struct PolicyReport {
  std::int64_t training_tables = 0;
  std::int64_t held_out_tables = 0;
  std::int32_t validation_tasks = 0;
  std::vector<PolicyPoint> curve;
  std::int32_t best_update = 0;
  double best_validation_share = 0;
  bool stopped_early = false;  ///< by the time limit or the caller: the best until then
};

struct PolicyTraining {
  PolicyModel model;  ///< but for its origin
  PolicyReport report;
};

/// The surroundings. Results do not depend on `threads`.
struct PolicyTrainControl {
  int threads = 1;  ///< 0: one per hardware thread
  ProgressSink* progress = nullptr;
  const CancelToken* cancel = nullptr;  ///< polled between updates
  double time_limit_s = 0;              ///< the same; 0 = none
};

/// Trains a policy on random tasks of the pool, under the costs of `models` alone: nothing is
/// measured. Some of the tables are held out, split_tables(), for tasks that say which update is
/// kept. First the network imitates the best plan of some greedy rules, then it learns by
/// REINFORCE. The same arguments give the same policy, bit for bit, on the same kind of processor,
/// unless a time limit or the caller ends it. A training that was stopped cannot be resumed.
/// Errors: kInvalidInput for options out of range, too few tables, tables that cannot be placed,
/// and cost models that do not fit the pool or the numbers of devices; kCancelled before the first
/// look.
Result<PolicyTraining> train_policy(const Workload& pool, const CostModels& models,
                                    const PolicyTrainOptions& options,
                                    const PolicyTrainControl& control);

/// {"format": "neuroshard-policy-training", "version": 1, options, tables, the curve}.
/// Deterministic.
std::string format_policy_training(const PolicyTrainOptions& options, const PolicyModel& model,
                                   const PolicyReport& report);

}  // namespace neuroshard
