#include "engine/ground_truth/policy_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "engine/core/random_subset.h"
#include "engine/core/rng.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/planner/planner.h"
#include "engine/policy/network_policy.h"

namespace neuroshard {
namespace {

/// What each algorithm found for a task.
struct TaskOutcome {
  std::optional<double> cost_ms;  ///< nothing: no plan
  double simulated_ms = std::numeric_limits<double>::quiet_NaN();
  double compute_ms = 0;
  Balance balance{};
  double seconds = 0;
};

/// Tables of the pool, each once.
Workload random_task(const Workload& pool, const PolicyTrial& trial, Rng rng) {
  const auto count = static_cast<std::size_t>(rng.between(trial.min_tables, trial.max_tables));
  Workload task{{}, pool.batch_size};
  for (const std::int32_t id : random_subset(pool.tables.size(), count, rng)) {
    task.tables.push_back(pool.tables[static_cast<std::size_t>(id)]);
  }
  return task;
}

std::vector<TriedAlgorithm> algorithms_of(const PolicyTrial& trial, PolicyKind kind) {
  std::vector<TriedAlgorithm> list;
  for (std::string& name : baseline_names()) list.push_back({.algorithm = std::move(name)});
  const std::string policy(to_string(kind));
  list.push_back({.algorithm = policy});
  if (trial.samples > 0) list.push_back({.algorithm = policy, .samples = trial.samples});
  list.push_back({.algorithm = "refine", .time_limit_s = trial.refine_seconds});
  return list;
}

Result<TaskOutcome> outcome_of(const TriedAlgorithm& tried, const Workload& task,
                               const CostModels& models, const PlanOptions& options,
                               const PolicyTrial& trial) {
  NEUROSHARD_ASSIGN_OR_RETURN(
      const std::vector<ComparedPlan> plans,
      compare_plans(task, trial.cluster, models, {&tried.algorithm, 1}, options));
  TaskOutcome outcome;
  outcome.seconds = plans.front().seconds;
  const Result<PlanResult>& found = plans.front().result;
  if (!found.ok()) return outcome;
  outcome.cost_ms = found->cost.cost_ms;
  std::vector<double> compute;
  for (const DeviceCost& device : found->cost.per_device) compute.push_back(device.compute_ms);
  outcome.compute_ms = *std::max_element(compute.begin(), compute.end());
  outcome.balance = balance_of(compute);
  if (trial.hardware == nullptr) return outcome;
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanMeasurement simulated,
                              simulate_plan(*trial.hardware, task, found->plan));
  outcome.simulated_ms = simulated.cost.cost_ms;
  return outcome;
}

Status check_trial(const Workload& pool, const PolicyTrial& trial) {
  const auto tables = static_cast<std::int64_t>(pool.tables.size());
  if (trial.min_tables < 1 || trial.max_tables < trial.min_tables || trial.tasks < 1) {
    return invalid_input(
        "tasks: found " + std::to_string(trial.tasks) + " of " + std::to_string(trial.min_tables) +
        " to " + std::to_string(trial.max_tables) + " tables, expected at least 1 of at least 1");
  }
  if (trial.max_tables <= tables) return {};
  return invalid_input("tables: found " + std::to_string(tables) + ", expected at least " +
                       std::to_string(trial.max_tables) + ", as many as a task has");
}

void add(const std::vector<TaskOutcome>& outcomes, PolicyComparison& result) {
  const bool all = std::all_of(outcomes.begin(), outcomes.end(),
                               [](const TaskOutcome& one) { return one.cost_ms.has_value(); });
  if (all) ++result.compared;
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    TriedAlgorithm& tried = result.algorithms[k];
    tried.seconds += outcomes[k].seconds;
    if (outcomes[k].cost_ms) ++tried.solved;
    if (!all) continue;
    tried.cost_ms += *outcomes[k].cost_ms;
    tried.simulated_ms += outcomes[k].simulated_ms;
    tried.compute_ms += outcomes[k].compute_ms;
    tried.balance.mean_over_largest += outcomes[k].balance.mean_over_largest;
    tried.balance.least_over_largest += outcomes[k].balance.least_over_largest;
  }
}

/// From sums to means; NaN where nothing was compared.
void divide(const PolicyTrial& trial, std::int32_t compared, TriedAlgorithm& tried) {
  tried.seconds /= trial.tasks;
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  for (double* const sum : {&tried.cost_ms, &tried.simulated_ms, &tried.compute_ms,
                            &tried.balance.mean_over_largest, &tried.balance.least_over_largest}) {
    *sum = compared > 0 ? *sum / compared : nan;
  }
}

}  // namespace

Result<PolicyComparison> compare_policy(const Workload& pool, const CostModels& models,
                                        const PolicyModel& policy, const PolicyTrial& trial) {
  NEUROSHARD_RETURN_IF_ERROR(check_trial(pool, trial));
  const NetworkPolicy network(policy);
  PolicyComparison result{0, algorithms_of(trial, policy.kind)};
  const Rng seeds(trial.seed);
  for (std::int32_t index = 0; index < trial.tasks; ++index) {
    if (trial.cancel != nullptr && trial.cancel->cancelled()) return cancelled("interrupted");
    if (trial.progress != nullptr) {
      trial.progress->update("evaluating policy", index, trial.tasks, "tasks");
    }
    const Workload task = random_task(pool, trial, seeds.fork(static_cast<std::uint64_t>(index)));
    std::vector<TaskOutcome> outcomes;
    for (const TriedAlgorithm& tried : result.algorithms) {
      const PlanOptions options{.seed = trial.seed,
                                .threads = trial.threads,
                                .time_limit_s = tried.time_limit_s,
                                .advise = false,
                                .policy = &network,
                                .policy_samples = tried.samples};
      NEUROSHARD_ASSIGN_OR_RETURN(TaskOutcome outcome,
                                  outcome_of(tried, task, models, options, trial));
      outcomes.push_back(outcome);
    }
    add(outcomes, result);
  }
  for (TriedAlgorithm& tried : result.algorithms) divide(trial, result.compared, tried);
  return result;
}

}  // namespace neuroshard
