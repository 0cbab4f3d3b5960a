#include "engine/planner/search_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/elapsed.h"
#include "engine/core/offload.h"
#include "engine/core/thread_pool.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/make_evaluator.h"

namespace neuroshard {
namespace {

constexpr int kMaxThreads = 4096;

Status check_options(const PlanOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return invalid_input("threads: found " + std::to_string(options.threads) +
                         ", expected 0 (all) to " + std::to_string(kMaxThreads));
  }
  if (!(options.time_limit_s >= 0)) {
    return invalid_input("time limit: found " + std::to_string(options.time_limit_s) +
                         " seconds, expected 0 (none) or more");
  }
  if (options.host_memory_bytes < 0) {
    return invalid_input("host memory: found " + std::to_string(options.host_memory_bytes) +
                         " bytes, expected 0 (none) or more");
  }
  if (options.evaluations < 0) {
    return invalid_input("evaluations: found " + std::to_string(options.evaluations) +
                         ", expected 0 (no limit) or more");
  }
  return {};
}

/// By the evaluator of `workload`, or one of the kernels that the plan has.
Result<PlanCost> cost_of(const Plan& plan, const Workload& workload, const CostModels& models,
                         CostEvaluator& evaluator) {
  if (plan.offloaded == offloaded_tables(workload)) return evaluator.evaluate(plan);
  return planned_cost(workload, plan, models);
}

}  // namespace

search::SearchOptions search_options(const PlanOptions& options, const CostModels& models) {
  const Capabilities known = capabilities(models);
  return {.seed = options.seed,
          .time_limit_s = options.time_limit_s,
          .cancel = options.cancel,
          .progress = options.progress,
          .evaluations = options.evaluations,
          .row_splits = std::min(options.row_splits, known.row_splits),
          .row_parts = known.row_parts,
          .devices_per_host = known.devices_per_host,
          .host_memory_bytes = options.host_memory_bytes,
          .replicate = options.data_parallel && known.replicas,
          .possible_row_splits = std::min(options.trainer.row_splits, known.row_splits),
          .possible_replicas = known.replicas};
}

OwnWorkload::OwnWorkload(const Workload& workload, std::int32_t devices) : given_(workload) {
  const auto special = [](const Table& table) {
    return !table.devices.all() || table.kernel.offloaded();
  };
  const bool some = std::any_of(workload.tables.begin(), workload.tables.end(), special);
  if (devices > 1 && !some) return;
  own_ = workload;
  for (Table& table : own_->tables) {
    if (table.kernel.offloaded()) table.sharding.data_parallel = false;
    if (table.devices.has_all(0, devices)) table.devices = {};
    if (devices == 1) table.sharding.whole = true;
  }
}

Status check_devices(const Workload& workload, const Cluster& cluster) {
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const std::vector<std::int32_t>& devices = workload.tables[index].devices.devices();
    if (devices.empty() || devices.back() < cluster.devices) continue;
    return invalid_input(table_label(workload, static_cast<std::int32_t>(index)) +
                         ": found device " + std::to_string(devices.back()) +
                         " among its devices, expected below " + std::to_string(cluster.devices));
  }
  return {};
}

Result<PlanResult> run_search(const Workload& workload, const Cluster& cluster,
                              const CostModels& models, const PlanOptions& options,
                              const Search& run, double& seconds) {
  NEUROSHARD_RETURN_IF_ERROR(check_options(options));
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(cluster));
  NEUROSHARD_RETURN_IF_ERROR(check_devices(workload, cluster));
  const OwnWorkload tables(workload, cluster.devices);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<CostEvaluator> evaluator,
                              make_evaluator(models, workload, cluster.devices));
  search::SearchOptions own = search_options(options, models);
  std::unique_ptr<ThreadPool> pool;
  if (options.threads != 1) pool = std::make_unique<ThreadPool>(options.threads);
  own.pool = pool.get();
  const auto start = std::chrono::steady_clock::now();
  Result<search::SearchResult> found = run({tables.get(), cluster, &workload}, *evaluator, own);
  seconds = seconds_since(start);
  if (!found.ok()) return found.status();
  PlanResult result;
  result.plan = std::move(found->plan);
  canonicalize(result.plan);
  NEUROSHARD_ASSIGN_OR_RETURN(result.cost, cost_of(result.plan, workload, models, *evaluator));
  result.evaluations = found->evaluations;
  result.seconds = seconds;
  result.stopped_early = found->stopped_early;
  result.skipped = found->skipped;
  result.lower_bound = found->lower_bound;
  if (!std::isfinite(result.cost.cost_ms)) {
    return invalid_input("the cost models give this workload's plans no finite cost");
  }
  return result;
}

}  // namespace neuroshard
