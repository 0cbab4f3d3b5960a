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

  friend bool operator==(const PolicyPoint&, const PolicyPoint&) = default;
};

/// A round of a training that also measures plans (engine/ground_truth/joint_policy.h).
struct PolicyRound {
  std::int64_t plans = 0;  ///< measured until its end
  double measured_ms = 0;  ///< mean cost of those of the round
  double error = 0;  ///< mean |predicted / measured - 1| of these, as the networks before them
                     ///< said; NaN in the first round, where there were none
};

/// What a training did. Holds no times: equal trainings have equal reports.
struct PolicyReport {
  std::int64_t training_tables = 0;
  std::int64_t held_out_tables = 0;
  std::int32_t validation_tasks = 0;
  std::vector<PolicyPoint> curve;
  std::int32_t best_update = 0;
  double best_validation_share = 0;
  bool stopped_early = false;       ///< by the time limit or the caller: the best until then
  std::vector<PolicyRound> rounds;  ///< none where nothing was measured
};

/// The look with the least validation share, of equals the first. REQUIRES a look.
const PolicyPoint& best_look(const std::vector<PolicyPoint>& curve);

/// Where a training stands between two steps; with its arguments, all that the rest depends on.
/// Without parameters: at its beginning.
struct PolicyTrainingState {
  std::int64_t steps = 0;         ///< of imitation, then updates
  std::vector<float> parameters;  ///< the policy's: table network, head, LSTM
  std::vector<float> adam_mean;   ///< the optimizer's moving averages of gradients, [parameters]
  std::vector<float> adam_square;
  std::vector<float> best;   ///< the parameters at the best look; none before the first
  double share_sum = 0;      ///< of drawn plans since the last look
  double entropy_sum = 0;    ///< of their choices
  std::int64_t learned = 0;  ///< tasks in these
  std::vector<PolicyPoint> curve;

  friend bool operator==(const PolicyTrainingState&, const PolicyTrainingState&) = default;
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

}  // namespace neuroshard
