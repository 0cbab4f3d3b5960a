#include "engine/planner/planner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "engine/core/algorithm_name.h"
#include "engine/core/bytes.h"
#include "engine/core/check_step_memory.h"
#include "engine/core/elapsed.h"
#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/step_memory.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/check_plan.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/planner/device_search.h"
#include "engine/planner/host_memory_search.h"
#include "engine/planner/memory_limits.h"
#include "engine/planner/search_budget.h"
#include "engine/planner/search_run.h"
#include "engine/planner/tried_advice.h"
#include "search/algorithms.h"
#include "search/equal_columns.h"
#include "search/row_shapes.h"

namespace neuroshard {
namespace {

Result<const search::Algorithm*> algorithm_of(const std::string& name) {
  if (const search::Algorithm* found = search::find_algorithm(name)) return found;
  std::string known;
  for (const search::Algorithm& algorithm : search::algorithms()) {
    known += (known.empty() ? "" : ", ") + std::string(algorithm.name);
  }
  return invalid_input("algorithm: found '" + name + "', expected one of " + known);
}

/// What a search may choose: what the tables allow on the cluster, and the trainer runs.
search::SearchSpace layouts(const Workload& workload, const Cluster& cluster,
                            const search::Algorithm& algorithm, const TrainerRules& trainer,
                            const search::SearchOptions& options) {
  search::SearchSpace space = search::space_of(workload, cluster);
  for (search::TableSpace& table : space.tables) {
    table.hot_rows = hot_rows_beside(trainer, *table.table);
    table.one_width = trainer.one_width_a_device;
  }
  const bool equal = trainer.equal_columns && algorithm.splits_columns && cluster.devices > 1;
  if (!equal) return space;
  return search::with_equal_blocks(std::move(space), cluster.devices,
                                   search::row_shapes(options, cluster.devices));
}

Result<PlanResult> search_plan(const Workload& workload, const Cluster& cluster,
                               const CostModels& models, const PlanOptions& given,
                               double& seconds) {
  const PlanOptions options = as_trainer_runs(given);
  NEUROSHARD_ASSIGN_OR_RETURN(const search::Algorithm* algorithm, algorithm_of(options.algorithm));
  const bool offload = cluster.host_memory_bytes > 0 && options.trainer.host_memory &&
                       capabilities(models).host_memory;
  const Search run = [&](const search::Problem& problem, CostEvaluator& evaluator,
                         const search::SearchOptions& own) -> Result<search::SearchResult> {
    return offload ? search_with_host_memory({problem, evaluator, models}, *algorithm, own)
                   : search_on_devices(problem, evaluator, *algorithm, own);
  };
  search::SearchSpace space = layouts(workload, cluster, *algorithm, options.trainer,
                                      search_options(options, models, cluster));
  search::SearchSpace any = search::space_of(workload);  // as more devices have it
  any.step = step_memory(workload, cluster);
  NEUROSHARD_ASSIGN_OR_RETURN(
      PlanResult result,
      run_search({workload, cluster, std::move(space), &any}, models, options, run, seconds));
  result.algorithm = options.algorithm;
  return result;
}

/// Of a search that may take so long where all that began then may take `all_seconds`.
double time_left(double limit_s, double all_seconds, std::chrono::steady_clock::time_point start) {
  const double left = std::max(all_seconds - seconds_since(start), kLeastSeconds);
  return limit_s > 0 ? std::min(limit_s, left) : left;
}

}  // namespace

Result<PlanResult> make_plan(const Workload& workload, const Cluster& cluster,
                             const CostModels& models, const PlanOptions& options) {
  double seconds = 0;
  Result<PlanResult> found = search_plan(workload, cluster, models, options, seconds);
  if (found.status().code() != StatusCode::kInfeasible || !options.advise) return found;
  const Trial trial = [&](const Workload& tables, const Cluster& other) {
    double unused = 0;
    return search_plan(tables, other, models, for_trials(options), unused).status();
  };
  const std::optional<Workload> whole =
      with_wholes(found.status(), workload, cluster, models, options);
  if (!whole) return with_tried_advice(found.status(), {workload, cluster, trial});
  if (trial(*whole, cluster).ok()) return found;
  const Status then = make_plan(*whole, cluster, models, options).status();
  return then.ok() ? found.status() : with_next_refusal(found.status(), then);
}

Result<PlanCost> simulate(const Workload& workload, const Plan& plan, const CostModels& models,
                          const Cluster& cluster) {
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  if (plan.devices < 1 || plan.devices > kMaxDevices) {
    return invalid_input("devices: found " + std::to_string(plan.devices) + ", expected 1 to " +
                         std::to_string(kMaxDevices));
  }
  NEUROSHARD_RETURN_IF_ERROR(
      check_step_memory(workload, {cluster.buffers, workload.batch_size, plan.devices}));
  NEUROSHARD_RETURN_IF_ERROR(validate(workload, plan));
  const std::int32_t per_host = cluster.devices_per_host;
  NEUROSHARD_RETURN_IF_ERROR(check_plan(models, workload, plan, per_host));
  NEUROSHARD_ASSIGN_OR_RETURN(
      const std::unique_ptr<CostEvaluator> evaluator,
      make_evaluator(models, workload, plan.devices, per_host, cluster.exchange));
  Plan canonical = plan;  // so that the order of a file's shards does not show in the last digit
  canonicalize(canonical);
  PlanCost cost = evaluator->evaluate(canonical);
  set_bytes(workload, canonical, cluster.buffers, cost);
  if (!std::isfinite(cost.cost_ms)) {
    return invalid_input("the cost models give this plan no finite cost");
  }
  return cost;
}

Result<std::optional<double>> cost_lower_bound(const Workload& workload, const Cluster& cluster,
                                               const CostModels& models, RowSplits row_splits,
                                               bool data_parallel, search::BoundEffort effort) {
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(cluster));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<CostEvaluator> evaluator,
                              make_evaluator(models, workload, cluster.devices,
                                             cluster.devices_per_host, cluster.exchange));
  const search::SearchOptions options =
      search_options({.row_splits = row_splits, .data_parallel = data_parallel}, models, cluster);
  NEUROSHARD_RETURN_IF_ERROR(check_devices(workload, cluster));
  const Capabilities known = capabilities(models);
  const bool faster_elsewhere = cluster.host_memory_bytes > 0 && !known.fused_is_fastest;
  if (!known.additive || faster_elsewhere || replicates_on_one(workload, cluster, options)) {
    return std::optional<double>();
  }
  // Tables in host memory take none of the devices'.
  return search::lower_bound({workload, cluster, search::space_of(workload, cluster)}, *evaluator,
                             search::row_shapes(options, cluster.devices),
                             {effort, cluster.host_memory_bytes == 0});
}

Result<std::vector<ComparedPlan>> compare_plans(const Workload& workload, const Cluster& cluster,
                                                const CostModels& models,
                                                std::span<const std::string> names,
                                                const PlanOptions& options, const TimeForAll& all) {
  for (const std::string& name : names) NEUROSHARD_RETURN_IF_ERROR(algorithm_of(name).status());
  std::vector<ComparedPlan> plans;
  Status refusal;
  bool taken = false;
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& name : names) {
    PlanOptions own = options;
    own.algorithm = name;
    if (all.seconds > 0) {
      if (all.then == TimeForAll::Then::kNothing && seconds_since(start) >= all.seconds) {
        plans.push_back({name, cancelled("time was over before " + display_name(name) + " ran")});
        continue;
      }
      own.time_limit_s = time_left(own.time_limit_s, all.seconds, start);
    }
    double seconds = 0;
    Result<PlanResult> result = search_plan(workload, cluster, models, own, seconds);
    const StatusCode code = result.status().code();
    if (code == StatusCode::kInvalidInput) {
      refusal = result.status();
    } else if (result.ok() || code == StatusCode::kInfeasible ||
               (code == StatusCode::kCancelled && !asked_to_stop(options.cancel))) {
      taken = true;
    } else {
      return result.status();
    }
    plans.push_back({name, std::move(result), seconds});
  }
  if (!taken && !refusal.ok()) return refusal;
  return plans;
}

}  // namespace neuroshard
