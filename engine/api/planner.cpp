// The planner: searching and costing with one set of cost models.
#include "engine/planner/planner.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/api/boundary.h"
#include "engine/api/callback_sink.h"
#include "engine/api/handles.h"
#include "engine/api/inputs.h"
#include "engine/api/plan_target.h"
#include "engine/api/planner_log.h"
#include "engine/api/planner_models.h"
#include "engine/api/search_options.h"
#include "engine/cost_model/capabilities.h"
#include "search/algorithms.h"

namespace neuroshard::api {
namespace {

using PlanHandle = std::unique_ptr<neuroshard_plan>;

using Search = std::function<Result<PlanResult>(const CostModels&, const PlanOptions&)>;

/// What `search` finds, with all that plans know of themselves.
Result<PlanHandle> search_plan(const neuroshard_planner& planner,
                               const neuroshard_workload& workload, const GivenCluster& cluster,
                               PlanOptions options, CallbackSink progress, const Search& search) {
  const std::int32_t devices = cluster.devices.devices;
  const Models models = models_for(planner, cluster.devices_per_host);
  warn_of_guesses(planner, devices, workload.workload);
  warn_of_host_memory(planner, cluster.devices);
  options.progress = &progress;
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult result, search(models->models, options));
  auto plan = std::make_unique<neuroshard_plan>();
  plan->document.provenance = provenance_of(*models, "", result.algorithm, options.seed);
  plan->document.places.devices_per_host = cluster.devices_per_host;
  plan->cost_origin = describe_costs(*models, devices);
  log_result(planner, result);
  warn_if_any(planner, negative_times(*models, result.cost.per_device));
  plan->document.plan = std::move(result.plan);
  plan->document.batch_size = workload.workload.batch_size;
  plan->document.buffers = cluster.devices.buffers;
  plan->document.cost = std::move(result.cost);
  plan->evaluations = result.evaluations;
  plan->search_s = result.seconds;
  plan->stopped_early = result.stopped_early;
  plan->skipped = std::move(result.skipped);
  plan->lower_bound_ms = result.lower_bound.value_or(0);
  return plan;
}

}  // namespace

Models models_for(const neuroshard_planner& planner, std::int32_t devices_per_host) {
  const bool go_by_hosts = capabilities(planner.models->models).devices_per_host > 0;
  if (devices_per_host == 0 || !go_by_hosts) return planner.models;
  auto own = std::make_shared<NamedCostModels>(*planner.models);
  set_hosts(devices_per_host, *own);
  return own;
}

}  // namespace neuroshard::api

using namespace neuroshard;
using namespace neuroshard::api;

neuroshard_status neuroshard_planner_create(const neuroshard_cost_models* models,
                                            const neuroshard_planner_options* options,
                                            neuroshard_planner** planner, neuroshard_error* error) {
  return make_handle(planner, error, [&]() -> Result<std::unique_ptr<neuroshard_planner>> {
    NEUROSHARD_REQUIRE(models);
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_planner_options given,
                                read_optional_struct(options, "options"));
    auto handle = std::make_unique<neuroshard_planner>();
    handle->models = models->models;
    handle->log = given.log;
    handle->log_user_data = given.log_user_data;
    if (simulated(handle->models->models)) {
      log_line(*handle, NEUROSHARD_LOG_WARNING, "cost model " + describe(*handle->models));
    }
    return handle;
  });
}

void neuroshard_planner_destroy(neuroshard_planner* planner) { delete planner; }

neuroshard_status neuroshard_planner_plan(const neuroshard_planner* planner,
                                          const neuroshard_workload* workload,
                                          const neuroshard_cluster* cluster,
                                          const neuroshard_plan_options* options,
                                          neuroshard_plan** plan, neuroshard_error* error) {
  return make_handle(plan, error, [&]() -> Result<PlanHandle> {
    NEUROSHARD_REQUIRE(planner);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenCluster devices, read_cluster(cluster));
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_plan_options given,
                                read_optional_struct(options, "options"));
    NEUROSHARD_ASSIGN_OR_RETURN(GivenSearch search, read_search(given));
    if (search.whole_tables) {
      return invalid_input("options.whole_tables: found " + std::to_string(given.whole_tables) +
                           ", expected 0: tables say it themselves (forbidden_sharding)");
    }
    search.target.devices_per_host = devices.devices_per_host;
    warn_of_target(*planner, devices.devices, given.row_splits, search.options);
    return search_plan(
        *planner, *workload, devices, search.options, {given.progress, given.progress_user_data},
        [&](const CostModels& models, const PlanOptions& own) {
          return plan_for_target(search.target, *workload, devices.devices, models, own,
                                 [&](const std::string& note) { warn_if_any(*planner, note); });
        });
  });
}

neuroshard_status neuroshard_planner_replan(const neuroshard_planner* planner,
                                            const neuroshard_workload* workload,
                                            const neuroshard_cluster* cluster,
                                            const neuroshard_plan* now, int64_t move_limit_bytes,
                                            const neuroshard_plan_options* options,
                                            neuroshard_plan** plan, neuroshard_error* error) {
  return make_handle(plan, error, [&]() -> Result<PlanHandle> {
    NEUROSHARD_REQUIRE(planner);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_REQUIRE(now);
    NEUROSHARD_ASSIGN_OR_RETURN(GivenCluster devices, read_cluster(cluster));
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_plan_options given,
                                read_optional_struct(options, "options"));
    NEUROSHARD_ASSIGN_OR_RETURN(GivenSearch search, read_search(given));
    const io::TrainerPlaces& places = now->document.places;
    if (devices.devices_per_host == 0) devices.devices_per_host = places.devices_per_host;
    if (!devices.says_buffers) devices.devices.buffers = now->document.buffers;
    search.target.devices_per_host = devices.devices_per_host;
    const MoveLimit limit{.bytes = move_limit_bytes, .whole_tables = search.whole_tables};
    NEUROSHARD_ASSIGN_OR_RETURN(
        PlanHandle found,
        search_plan(*planner, *workload, devices, search.options,
                    {given.progress, given.progress_user_data},
                    [&](const CostModels& models, const PlanOptions& own) {
                      return replan_for_target(
                          search.target, *workload, devices.devices, models, now->document, limit,
                          own, [&](const std::string& note) { warn_if_any(*planner, note); });
                    }));
    const std::int32_t per_host = found->document.places.devices_per_host;
    found->document.places = places;
    found->document.places.devices_per_host = per_host;
    return found;
  });
}

neuroshard_status neuroshard_planner_simulate(const neuroshard_planner* planner,
                                              const neuroshard_workload* workload,
                                              const neuroshard_plan* plan, neuroshard_plan** costed,
                                              neuroshard_error* error) {
  return make_handle(costed, error, [&]() -> Result<PlanHandle> {
    NEUROSHARD_REQUIRE(planner);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_REQUIRE(plan);
    NEUROSHARD_RETURN_IF_ERROR(check_same_batch(*workload, *plan));
    auto result = std::make_unique<neuroshard_plan>(*plan);
    const io::PlanDocument& own = plan->document;
    const Models models = models_for(*planner, plan->document.places.devices_per_host);
    NEUROSHARD_ASSIGN_OR_RETURN(
        result->document.cost, simulate(workload->workload, own.plan, models->models, own.buffers));
    warn_of_guesses(*planner, plan->document.plan.devices, workload->workload);
    warn_if_any(*planner, negative_times(*models, result->document.cost.per_device));
    result->cost_origin = describe_costs(*models, plan->document.plan.devices);
    const io::PlanProvenance& made = plan->document.provenance;
    result->document.provenance = provenance_of(*models, "", made.algorithm, made.seed);
    result->lower_bound_ms = 0;  // of the cost models that it was searched with
    return result;
  });
}

neuroshard_status neuroshard_planner_lower_bound(const neuroshard_planner* planner,
                                                 const neuroshard_workload* workload,
                                                 const neuroshard_cluster* cluster,
                                                 const neuroshard_plan_options* options,
                                                 double* bound_ms, neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(planner);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_REQUIRE(bound_ms);
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenCluster devices, read_cluster(cluster));
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_plan_options given,
                                read_optional_struct(options, "options"));
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenSearch search, read_search(given));
    const PlanOptions own = as_trainer_runs(search.options);
    Cluster places = devices.devices;
    if (!own.trainer.host_memory) places.host_memory_bytes = 0;
    const Models models = models_for(*planner, devices.devices_per_host);
    NEUROSHARD_ASSIGN_OR_RETURN(const std::optional<double> bound,
                                cost_lower_bound(workload->workload, places, models->models,
                                                 own.row_splits, own.data_parallel));
    *bound_ms = bound.value_or(0);
    return {};
  });
}

size_t neuroshard_algorithm_count(void) { return search::algorithms().size(); }

neuroshard_text neuroshard_algorithm_name(size_t index) {
  const auto algorithms = search::algorithms();
  return text_of(index < algorithms.size() ? algorithms[index].name : std::string_view(""));
}

neuroshard_text neuroshard_algorithm_summary(size_t index) {
  const auto algorithms = search::algorithms();
  return text_of(index < algorithms.size() ? algorithms[index].summary : std::string_view(""));
}
