#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "engine/policy/policy_model.h"
#include "engine/policy/policy_reward.h"

namespace neuroshard {

/// Which tasks a policy is tried on, and how.
struct PolicyTrial {
  Cluster cluster;
  std::int32_t tasks = 20;
  std::int32_t min_tables = 10;  ///< of a task, drawn evenly up to max_tables
  std::int32_t max_tables = 60;
  std::int64_t samples = 16;    ///< plans that are drawn, besides the first choices alone
  double refine_seconds = 0.1;  ///< for the local search that is shown beside
  std::uint64_t seed = 0;
  int threads = 1;
  /// Simulates the plans, too: policies make use of whatever cost models have wrong. Null: not.
  const ChosenProfile* hardware = nullptr;
  ProgressSink* progress = nullptr;
  const CancelToken* cancel = nullptr;  ///< polled between tasks: kCancelled
};

/// How an algorithm did.
struct TriedAlgorithm {
  std::string algorithm;
  std::int64_t samples = 0;  ///< of a policy's
  double time_limit_s = 0;   ///< 0: none
  std::int32_t solved = 0;   ///< tasks that it has a plan for
  double cost_ms = 0;        ///< mean over the tasks that all have plans for
  double simulated_ms = 0;   ///< the same, simulated; NaN: not
  double compute_ms = 0;     ///< of the device that computes the longest, predicted, the same mean
  Balance balance{};         ///< of the devices' compute, the same mean
  double seconds = 0;        ///< mean over all tasks, of the search alone
};

struct PolicyComparison {
  std::int32_t compared = 0;  ///< tasks that all have plans for
  std::vector<TriedAlgorithm> algorithms;
};

/// The plans of the baselines, of the policy and of a short `refine` for random tasks of the pool,
/// whose tables are drawn without repetition. Errors: kInvalidInput for a pool with fewer tables
/// than a task, and as make_plan() and simulate_plan(); kCancelled.
Result<PolicyComparison> compare_policy(const Workload& pool, const CostModels& models,
                                        const PolicyModel& policy, const PolicyTrial& trial);

}  // namespace neuroshard
