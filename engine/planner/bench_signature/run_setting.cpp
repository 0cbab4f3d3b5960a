#include "engine/planner/bench_signature/run_setting.h"

#include <string>
#include <utility>

#include "engine/planner/algorithms.h"
#include "engine/planner/bench_signature/scalar_planner.h"
#include "engine/planner/bench_signature/tasks.h"
#include "search/algorithms.h"

namespace neuroshard::signature {
namespace {

constexpr std::uint64_t kDriftSeed = 2024;

bool is_outcome(const Status& status) {
  return status.ok() || status.code() == StatusCode::kInfeasible ||
         status.code() == StatusCode::kInvalidInput;
}

Result<PlanResult> plan_task(const Setting& setting, const Task& task) {
  const auto plan = setting.costs == Costs::kFormula ? make_plan : make_plan_scalar;
  return plan(task.workload, task.cluster, task.models, task.options);
}

/// Takes the last table out, which is new then.
void forget_last_table(const Workload& workload, Plan& plan) {
  const auto last = static_cast<std::int32_t>(workload.tables.size()) - 1;
  std::erase_if(plan.shards, [&](const Shard& shard) { return shard.table == last; });
}

/// A plan for other lookups than those that `now` was made for and, with TorchRec's formula, in
/// less memory or more, one time in three for a table that `now` lacks.
Result<PlanResult> replan_task(const Setting& setting, const Task& task, Plan now,
                               std::size_t index) {
  Rng rng = Rng(kDriftSeed).fork(index);
  const Workload workload = with_other_lookups(task.workload, rng);
  if (setting.costs != Costs::kFormula) {
    return replan_scalar(workload, task.cluster, task.models, now, task.limit, task.options);
  }
  Cluster cluster = task.cluster;
  cluster.memory_bytes = cluster.memory_bytes / 100 * rng.between(90, 140);
  if (index % 3 == 2) forget_last_table(workload, now);
  return replan(workload, cluster, task.models, now, task.limit, task.options);
}

/// A signature that machines differ in would say nothing of a change.
std::vector<std::string> algorithms_of(const Setting& setting) {
  if (!setting.all_algorithms) return {std::string(default_algorithm())};
  std::vector<std::string> names;
  for (const search::Algorithm& algorithm : search::algorithms()) {
    if (algorithm.same_on_every_machine) names.emplace_back(algorithm.name);
  }
  return names;
}

}  // namespace

Result<SettingRun> run_setting(const Setting& setting) {
  const std::vector<std::string> names = algorithms_of(setting);
  SettingRun run{setting.name, {}};
  const auto add = [&run](Result<PlanResult> found) -> Status {
    if (!is_outcome(found.status())) return found.status();
    run.outcomes.push_back(std::move(found));
    return {};
  };
  for (std::size_t index = 0; index < setting.tasks; ++index) {
    NEUROSHARD_ASSIGN_OR_RETURN(Task task, make_task(setting, index));
    for (const std::string& name : names) {
      task.options.algorithm = name;
      NEUROSHARD_RETURN_IF_ERROR(add(plan_task(setting, task)));
    }
    if (setting.moved.most == 0 || !run.outcomes.back().ok()) continue;
    const Plan now = run.outcomes.back()->plan;
    NEUROSHARD_RETURN_IF_ERROR(add(replan_task(setting, task, now, index)));
  }
  return run;
}

Result<std::vector<SettingRun>> run_settings(ProgressSink* progress) {
  std::vector<SettingRun> runs;
  for (const Setting& setting : settings()) {
    if (progress != nullptr) {
      progress->update("bench", std::ssize(runs), std::ssize(settings()), "settings");
    }
    NEUROSHARD_ASSIGN_OR_RETURN(SettingRun run, run_setting(setting));
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace neuroshard::signature
