#include "bench/golden_costs/mean_cost.h"

#include <cmath>
#include <string>

#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"
#include "engine/planner/planner.h"

namespace neuroshard::bench {
namespace {

constexpr std::int64_t kPublicMemory = 80'000'000'000;  // of each device
constexpr std::int64_t kReferenceMemory = std::int64_t{4} << 30;
constexpr double kDrift = 0.5;  // standard deviation of the pooling factors' logarithms

std::int64_t share_of(const Workload& workload, double share) {
  return static_cast<std::int64_t>(share * static_cast<double>(workload_bytes(workload)));
}

Cluster cluster_of(const GoldenSetting& setting, const Workload& workload) {
  const auto bytes = [&] {
    if (setting.source == TableSource::kPublic) return kPublicMemory;
    if (setting.source == TableSource::kReference) return kReferenceMemory;
    return share_of(workload, setting.memory) / setting.devices;
  };
  const std::int32_t hosts = setting.devices > kUsualHost ? setting.devices / kUsualHost : 1;
  return {.devices = setting.devices,
          .memory_bytes = bytes(),
          .host_memory_bytes = share_of(workload, setting.host_memory) / hosts};
}

PlanOptions options_of(const GoldenSetting& setting, std::uint64_t task) {
  PlanOptions options;
  options.seed = task;
  options.evaluations = setting.evaluations;
  options.row_splits = setting.moved > 0 ? RowSplits::kOff : setting.row_splits;
  options.data_parallel = setting.data_parallel;
  options.trainer.equal_columns = setting.equal_columns;
  return options;
}

Workload drifted(Workload workload, std::uint64_t task) {
  Rng rng(task);
  for (Table& table : workload.tables) table.pooling_factor *= std::exp(kDrift * rng.normal());
  return workload;
}

Result<PlanResult> plan_task(const GoldenSetting& setting, const CostModels& models,
                             const Workload& workload, std::uint64_t task) {
  const Cluster cluster = cluster_of(setting, workload);
  const PlanOptions options = options_of(setting, task);
  Result<PlanResult> plan = make_plan(workload, cluster, models, options);
  if (setting.moved == 0 || !plan.ok()) return plan;
  return replan(drifted(workload, task), cluster, models, plan->plan,
                {.bytes = share_of(workload, setting.moved)}, options);
}

}  // namespace

Result<double> mean_cost(const GoldenSetting& setting, const GoldenInputs& inputs) {
  double sum = 0;
  for (std::size_t task = 0; task < inputs.workloads.size(); ++task) {
    const Result<PlanResult> result =
        plan_task(setting, inputs.models, inputs.workloads[task], task);
    if (!result.ok()) {
      return Status(result.status().code(), std::string(setting.name) + ", task " +
                                                std::to_string(task) + ": " +
                                                result.status().message());
    }
    sum += result->cost.cost_ms;
  }
  return sum / static_cast<double>(inputs.workloads.size());
}

}  // namespace neuroshard::bench
