#include "engine/api/search_plan.h"

#include <cstdint>
#include <utility>

#include "engine/api/planner_log.h"
#include "engine/cost_model/plan_error.h"
#include "io/plans/plan_tables.h"

namespace neuroshard::api {

Result<std::unique_ptr<neuroshard_plan>> search_plan(const neuroshard_planner& planner,
                                                     const neuroshard_workload& workload,
                                                     Cluster cluster, PlanOptions options,
                                                     CallbackSink progress, const Search& search) {
  const NamedCostModels& models = *planner.models;
  warn_of_guesses(planner, cluster.devices, workload.workload);
  warn_of_host_memory(planner, cluster);
  options.progress = &progress;
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult result, search(models.models, options, cluster));
  auto plan = std::make_unique<neuroshard_plan>();
  const std::int32_t per_host = cluster.devices_per_host;
  plan->document.provenance = provenance_of(models, per_host, "", result.algorithm, options.seed);
  plan->document.places.devices_per_host = per_host;
  plan->cost_origin = describe_costs(models, cluster.devices);
  plan->models = planner.models;
  log_result(planner, result);
  warn_if_any(planner, negative_times(models, result.cost.per_device));
  if (result.lower_bound.value_or(0) > 0) plan->document.lower_bound_ms = result.lower_bound;
  plan->document.cost_error = error_of(models.models, result.cost);
  plan->document.plan = std::move(result.plan);
  plan->document.batch_size = workload.workload.batch_size;
  plan->document.buffers = cluster.buffers;
  plan->document.exchange = cluster.exchange;
  plan->document.setting.table_names = io::names_for_plan(workload.workload);
  plan->document.setting.memory_bytes = cluster.memory_bytes;
  plan->document.setting.host_memory_bytes = cluster.host_memory_bytes;
  plan->document.cost = std::move(result.cost);
  plan->evaluations = result.evaluations;
  plan->search_s = result.seconds;
  plan->stopped_early = result.stopped_early;
  plan->skipped = std::move(result.skipped);
  return plan;
}

}  // namespace neuroshard::api
