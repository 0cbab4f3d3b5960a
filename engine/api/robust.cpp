// Plans for several cost models at once.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/boundary.h"
#include "engine/api/handles.h"
#include "engine/api/inputs.h"
#include "engine/api/plan_target.h"
#include "engine/api/planner_log.h"
#include "engine/api/replanning.h"
#include "engine/api/search_options.h"
#include "engine/api/search_plan.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/first_lacking.h"
#include "engine/planner/robust/robust_plan.h"

namespace neuroshard::api {
namespace {

/// Those, with the planner's own, that one plan may be for: a bound for counts that are none.
constexpr std::size_t kMostRobustModels = 256;

/// A planner for each of the cost models, with the log of `first`, whose own are first.
using Planners = std::vector<neuroshard_planner>;

/// Whether a plan file says the same of both.
bool same_models(const NamedCostModels& a, const NamedCostModels& b, std::int32_t per_host) {
  return provenance_of(a, per_host, "", "", 0) == provenance_of(b, per_host, "", "", 0);
}

Result<Planners> planners_of(const neuroshard_planner& first,
                             const neuroshard_cost_models* const* others, std::size_t count,
                             std::int32_t per_host) {
  if (count >= kMostRobustModels) {
    return invalid_input("count: found " + std::to_string(count) + ", expected less than " +
                         std::to_string(kMostRobustModels));
  }
  if (count > 0) NEUROSHARD_REQUIRE(others);
  Planners planners{first};
  for (std::size_t k = 0; k < count; ++k) {
    NEUROSHARD_RETURN_IF_ERROR(require(others[k], ("others[" + std::to_string(k) + "]").c_str()));
    neuroshard_planner own = first;
    own.models = others[k]->models;
    const bool twice = std::any_of(planners.begin(), planners.end(), [&](const auto& one) {
      return same_models(*one.models, *own.models, per_host);
    });
    if (twice) {
      return invalid_input("cost models: found '" + own.models->name +
                           "' twice, expected each once");
    }
    planners.push_back(std::move(own));
  }
  return planners;
}

const CostModels& models_of(const neuroshard_planner& planner) { return planner.models->models; }

std::vector<const CostModels*> all_models_of(const Planners& planners) {
  std::vector<const CostModels*> models;
  for (const neuroshard_planner& one : planners) models.push_back(&models_of(one));
  return models;
}

/// What search_plan() and neuroshard_planner_create() tell of the first models alone, of the others
/// too; and what is not searched because one of them does not know it.
void warn_before(const Planners& planners, const Cluster& cluster, const Workload& workload,
                 const neuroshard_plan_options& given, const PlanOptions& options) {
  for (std::size_t k = 1; k < planners.size(); ++k) {
    warn_of_simulation(planners[k]);
    warn_of_guesses(planners[k], cluster.devices, workload);
  }
  const neuroshard_planner& without =
      first_lacking(&Capabilities::host_memory, planners, models_of);
  if (&without != &planners.front()) warn_of_host_memory(without, cluster);
  warn_of_target(with_fewest_row_splits(planners, models_of), cluster, given.row_splits, options);
  warn_of_hot_rows(first_lacking(&Capabilities::hot_rows, planners, models_of), options,
                   given.hot_memory_bytes != 0);
}

/// What each of them says of the plan found.
std::vector<io::CostByModel> costs_of(const Planners& planners, const RobustPlan& found) {
  std::vector<io::CostByModel> costs;
  for (std::size_t k = 0; k < planners.size(); ++k) {
    const std::string& name = planners[k].models->name;
    const RobustCost& own = found.costs[k];
    if (k > 0) warn_if_any(planners[k], negative_times(*planners[k].models, own.cost.per_device));
    costs.push_back({name, own.cost.cost_ms, own.best_ms, own.regret()});
    log_line(planners[k], NEUROSHARD_LOG_INFO,
             name + ": plan cost " + std::to_string(own.cost.cost_ms) + " ms, " +
                 std::to_string(100 * own.regret()) + " % above the least of any plan seen");
  }
  return costs;
}

/// What `make` finds for all models, with what each of them says of it. `search` makes a caller's
/// plan of what a search finds.
Result<std::unique_ptr<neuroshard_plan>> with_costs(
    const Planners& planners,
    const std::function<Result<RobustPlan>(const PlanOptions&, const Cluster&)>& make,
    const std::function<Result<std::unique_ptr<neuroshard_plan>>(const Search&)>& search) {
  RobustPlan robust;
  const Search run = [&](const CostModels&, const PlanOptions& own,
                         const Cluster& place) -> Result<PlanResult> {
    NEUROSHARD_ASSIGN_OR_RETURN(robust, make(own, place));
    return robust.plan;
  };
  NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<neuroshard_plan> found, search(run));
  found->document.by_models = costs_of(planners, robust);
  return found;
}

}  // namespace
}  // namespace neuroshard::api

using namespace neuroshard;
using namespace neuroshard::api;

neuroshard_status neuroshard_planner_plan_robust(const neuroshard_planner* planner,
                                                 const neuroshard_cost_models* const* others,
                                                 size_t count, const neuroshard_workload* workload,
                                                 const neuroshard_cluster* cluster,
                                                 const neuroshard_plan_options* options,
                                                 neuroshard_plan** plan, neuroshard_error* error) {
  return make_handle(plan, error, [&]() -> Result<std::unique_ptr<neuroshard_plan>> {
    NEUROSHARD_REQUIRE(planner);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenCluster places, read_cluster(cluster));
    NEUROSHARD_RETURN_IF_ERROR(check_one_exchange(places));
    const Cluster& devices = places.devices;
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_plan_options given,
                                read_optional_struct(options, "options"));
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenSearch search, read_plan_search(given));
    NEUROSHARD_ASSIGN_OR_RETURN(const Planners planners,
                                planners_of(*planner, others, count, devices.devices_per_host));
    warn_before(planners, devices, workload->workload, given, search.options);
    return with_costs(
        planners,
        [&](const PlanOptions& own, const Cluster& place) {
          return robust_plan_for_target(search.target, *workload, place, all_models_of(planners),
                                        own, warnings_of(*planner));
        },
        [&](const Search& run) {
          return search_plan(*planner, *workload, devices, search.options,
                             {given.progress, given.progress_user_data}, run);
        });
  });
}

neuroshard_status neuroshard_planner_replan_robust(
    const neuroshard_planner* planner, const neuroshard_cost_models* const* others, size_t count,
    const neuroshard_workload* workload, const neuroshard_cluster* cluster,
    const neuroshard_plan* now, int64_t move_limit_bytes, const neuroshard_plan_options* options,
    neuroshard_plan** plan, neuroshard_error* error) {
  return make_handle(plan, error, [&]() -> Result<std::unique_ptr<neuroshard_plan>> {
    NEUROSHARD_REQUIRE(planner);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_ASSIGN_OR_RETURN(
        const Replanning near,
        read_replanning(*planner, *workload, cluster, now, move_limit_bytes, options));
    NEUROSHARD_ASSIGN_OR_RETURN(
        const Planners planners,
        planners_of(*planner, others, count, near.devices.devices_per_host));
    warn_before(planners, near.devices, workload->workload, near.given, near.search.options);
    return with_costs(
        planners,
        [&](const PlanOptions& own, const Cluster& place) {
          return robust_replan_for_target(near.search.target, *workload, place,
                                          all_models_of(planners), near.running, near.limit, own,
                                          warnings_of(*planner));
        },
        [&](const Search& run) { return search_near(*planner, *workload, near, run); });
  });
}

size_t neuroshard_plan_robust_cost_count(const neuroshard_plan* plan) {
  return plan == nullptr ? 0 : plan->document.by_models.size();
}

neuroshard_status neuroshard_plan_get_robust_cost(const neuroshard_plan* plan, size_t index,
                                                  neuroshard_robust_cost* cost,
                                                  neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(plan);
    const std::vector<io::CostByModel>& costs = plan->document.by_models;
    NEUROSHARD_RETURN_IF_ERROR(check_index(index, costs.size()));
    const io::CostByModel& own = costs[index];
    neuroshard_robust_cost local{};
    local.cost_model = text_of(own.cost_model);
    local.cost_ms = own.cost_ms;
    local.best_ms = own.best_ms;
    local.regret = own.regret;
    return write_struct(cost, local, "cost");
  });
}
