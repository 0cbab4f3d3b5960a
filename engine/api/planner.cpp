// The planner: searching and costing with one set of cost models.
#include "engine/planner/planner.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/api/boundary.h"
#include "engine/api/handles.h"
#include "engine/api/inputs.h"
#include "engine/api/numbered_plan.h"
#include "engine/api/plan_target.h"
#include "engine/api/planner_log.h"
#include "engine/api/replanning.h"
#include "engine/api/search_options.h"
#include "engine/api/search_plan.h"
#include "engine/cost_model/plan_error.h"
#include "engine/planner/exchange/exchange_choice.h"
#include "search/algorithms.h"

namespace neuroshard::api {
namespace {

using PlanHandle = std::unique_ptr<neuroshard_plan>;

}  // namespace
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
    warn_of_simulation(*handle);
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
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenCluster places, read_cluster(cluster));
    const Cluster& devices = places.devices;
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_plan_options given,
                                read_optional_struct(options, "options"));
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenSearch search, read_plan_search(given));
    warn_of_target(*planner, devices, given.row_splits, search.options);
    warn_of_hot_rows(*planner, search.options, given.hot_memory_bytes != 0);
    return search_plan(*planner, *workload, devices, search.options,
                       {given.progress, given.progress_user_data},
                       [&](const CostModels& models, const PlanOptions& own, Cluster& place) {
                         const ClusterSearch one = [&](const Cluster& tried) {
                           return plan_for_target(search.target, *workload, tried, models, own,
                                                  warnings_of(*planner));
                         };
                         if (!places.any_exchange) return one(place);
                         return search_any_exchange(workload->workload, models, one, place);
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
    NEUROSHARD_ASSIGN_OR_RETURN(
        const Replanning near,
        read_replanning(*planner, *workload, cluster, now, move_limit_bytes, options));
    warn_of_target(*planner, near.devices, near.given.row_splits, near.search.options);
    return search_near(*planner, *workload, near,
                       [&](const CostModels& models, const PlanOptions& own, Cluster& place) {
                         return replan_for_target(near.search.target, *workload, place, models,
                                                  near.running, near.limit, own,
                                                  warnings_of(*planner));
                       });
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
    NEUROSHARD_ASSIGN_OR_RETURN(
        result->document,
        numbered_for(*workload, *plan, "plan", io::UnknownTables::kRenamed, warnings_of(*planner)));
    const io::PlanDocument& own = result->document;
    const NamedCostModels& models = *planner->models;
    const std::int32_t per_host = own.places.devices_per_host;
    NEUROSHARD_ASSIGN_OR_RETURN(
        PlanCost cost,
        simulate(workload->workload, own.plan, models.models,
                 {.buffers = own.buffers, .devices_per_host = per_host, .exchange = own.exchange}));
    const CostError cost_error = error_of(models.models, cost);
    result->document.set_cost(std::move(cost), cost_error);
    warn_of_guesses(*planner, own.plan.devices, workload->workload);
    warn_if_any(*planner, negative_times(models, result->document.cost.per_device));
    result->cost_origin = describe_costs(models, own.plan.devices);
    result->models = planner->models;
    const io::PlanProvenance made = own.provenance;
    result->document.provenance = provenance_of(models, per_host, "", made.algorithm, made.seed);
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
    NEUROSHARD_RETURN_IF_ERROR(check_one_exchange(devices));
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_plan_options given,
                                read_optional_struct(options, "options"));
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenSearch search, read_search(given));
    const PlanOptions own = as_trainer_runs(search.options);
    Cluster places = devices.devices;
    if (!own.trainer.host_memory) places.host_memory_bytes = 0;
    NEUROSHARD_ASSIGN_OR_RETURN(
        const std::optional<double> bound,
        cost_lower_bound(workload->workload, places, planner->models->models, own.row_splits,
                         own.data_parallel));
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
