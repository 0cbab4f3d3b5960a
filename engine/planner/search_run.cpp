#include "engine/planner/search_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/check_step_memory.h"
#include "engine/core/elapsed.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/step_memory.h"
#include "engine/core/thread_pool.h"
#include "engine/cost_model/capabilities.h"
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
  if (options.evaluations < 0) {
    return invalid_input("evaluations: found " + std::to_string(options.evaluations) +
                         ", expected 0 (no limit) or more");
  }
  if (!(options.memory_network_ratio >= 0) || std::isinf(options.memory_network_ratio)) {
    return invalid_input("memory-network ratio: found " +
                         std::to_string(options.memory_network_ratio) +
                         ", expected 0 (HugeCTR's own) or more");
  }
  if (options.policy_samples < 0) {
    return invalid_input("policy samples: found " + std::to_string(options.policy_samples) +
                         ", expected 0 or more");
  }
  return {};
}

bool may_be_nothing_else(const Workload& workload, std::int32_t table) {
  const AllowedSharding& may = workload.tables[static_cast<std::size_t>(table)].sharding;
  return !may.whole && !may.columns && !may.rows;
}

}  // namespace

search::SearchOptions search_options(const PlanOptions& options, const CostModels& models,
                                     const Cluster& cluster) {
  const Capabilities known = capabilities(models);
  return {.seed = options.seed,
          .time_limit_s = options.time_limit_s,
          .cancel = options.cancel,
          .progress = options.progress,
          .evaluations = options.evaluations,
          .row_splits = std::min(options.row_splits, known.row_splits),
          .row_parts = known.row_parts,
          .devices_per_host = block_host_devices(known, cluster),
          .replicate = options.data_parallel && known.replicas,
          .hot_rows = options.hot_rows && known.hot_rows,
          .hot_memory_bytes = options.hot_memory_bytes,
          .memory_network_ratio = options.memory_network_ratio,
          .possible_row_splits = std::min(options.trainer.row_splits, known.row_splits),
          .possible_replicas = known.replicas,
          .advise = options.advise,
          .plans = options.plans,
          .starts = options.starts,
          .policy = options.policy,
          .policy_samples = options.policy_samples};
}

bool replicates_on_one(const Workload& workload, const Cluster& cluster,
                       const search::SearchOptions& options) {
  if (cluster.devices > 1 || !options.replicate) return false;
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    if (may_be_nothing_else(workload, table)) return true;
  }
  return false;
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

Result<PlanResult> run_search(const search::Problem& problem, const CostModels& models,
                              const PlanOptions& options, const Search& run, double& seconds) {
  NEUROSHARD_RETURN_IF_ERROR(check_options(options));
  NEUROSHARD_RETURN_IF_ERROR(validate(problem.workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(problem.cluster));
  NEUROSHARD_RETURN_IF_ERROR(
      check_step_memory(problem.workload, step_memory(problem.workload, problem.cluster)));
  NEUROSHARD_RETURN_IF_ERROR(check_devices(problem.workload, problem.cluster));
  NEUROSHARD_ASSIGN_OR_RETURN(
      const std::unique_ptr<CostEvaluator> evaluator,
      make_evaluator(models, problem.workload, problem.cluster.devices,
                     problem.cluster.devices_per_host, problem.cluster.exchange));
  search::SearchOptions own = search_options(options, models, problem.cluster);
  std::unique_ptr<ThreadPool> pool;
  if (options.threads != 1) pool = std::make_unique<ThreadPool>(options.threads);
  own.pool = pool.get();
  const auto start = std::chrono::steady_clock::now();
  Result<search::SearchResult> found = run(problem, *evaluator, own);
  seconds = seconds_since(start);
  if (!found.ok()) return found.status();
  PlanResult result;
  result.plan = std::move(found->plan);
  const bool replicates = replicates_on_one(problem.workload, problem.cluster, own);
  for (Shard& shard : result.plan.shards) {
    const bool fused = shard.kernel == TableKernel{};
    if (replicates && fused && may_be_nothing_else(problem.workload, shard.table)) {
      shard.device = kEveryDevice;
    }
  }
  canonicalize(result.plan);
  // Anew, and in the order of files: a search has added the same costs up in another one, so that
  // its last digit may differ from what simulate() says.
  result.cost = evaluator->evaluate(result.plan);
  set_bytes(problem.workload, result.plan, problem.cluster.buffers, result.cost);
  result.evaluations = found->evaluations;
  result.seconds = seconds;
  result.stopped_early = found->stopped_early;
  result.skipped = found->skipped;
  if (!replicates) result.lower_bound = found->lower_bound;
  if (!std::isfinite(result.cost.cost_ms)) {
    return invalid_input("the cost models give this workload's plans no finite cost");
  }
  return result;
}

}  // namespace neuroshard
