// The planner: searching and costing with one set of cost models.
#include "engine/planner/planner.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/api/boundary.h"
#include "engine/api/handles.h"
#include "engine/api/inputs.h"
#include "engine/api/plan_target.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/capability_words.h"
#include "io/formats/plan_formats.h"
#include "io/text.h"
#include "search/algorithms.h"
#include "search/problem.h"

namespace neuroshard::api {
namespace {

using PlanHandle = std::unique_ptr<neuroshard_plan>;

/// Hands progress on to the caller's function.
class CallbackSink final : public ProgressSink {
 public:
  CallbackSink(neuroshard_progress_fn function, void* user_data)
      : function_(function), user_data_(user_data) {}
  void update(std::string_view phase, std::int64_t done, std::int64_t total,
              std::string_view unit) override {
    if (function_ != nullptr) function_(user_data_, text_of(phase), done, total, text_of(unit));
  }

 private:
  neuroshard_progress_fn function_;
  void* user_data_;
};

using Models = std::shared_ptr<const NamedCostModels>;

/// The planner's; those that go by hosts with hosts of so many devices, where said (not 0).
Models models_for(const neuroshard_planner& planner, std::int32_t devices_per_host) {
  const bool go_by_hosts = capabilities(planner.models->models).devices_per_host > 0;
  if (devices_per_host == 0 || !go_by_hosts) return planner.models;
  auto own = std::make_shared<NamedCostModels>(*planner.models);
  set_hosts(devices_per_host, *own);
  return own;
}

void log_line(const neuroshard_planner& planner, std::int32_t level, const std::string& message) {
  if (planner.log == nullptr) return;
  const std::string line = io::printable(message);
  planner.log(planner.log_user_data, level, text_of(line));
}

void warn_if_any(const neuroshard_planner& planner, const std::string& warning) {
  if (!warning.empty()) log_line(planner, NEUROSHARD_LOG_WARNING, warning);
}

void warn_of_guesses(const neuroshard_planner& planner, std::int32_t devices,
                     const Workload& workload) {
  warn_if_any(planner, device_guess(*planner.models, devices));
  warn_if_any(planner, table_guess(*planner.models, workload.tables));
  warn_if_any(planner, dropped_samples(*planner.models, devices, workload.batch_size));
}

void warn_of_host_memory(const neuroshard_planner& planner, const Cluster& cluster) {
  if (cluster.host_memory_bytes == 0 || capabilities(planner.models->models).host_memory) return;
  log_line(
      planner, NEUROSHARD_LOG_WARNING,
      "cluster.host_memory_bytes: changes nothing, " + lacks_host_memory(planner.models->name));
}

/// Of a plan from nothing: what a running plan has in host memory stays there.
void warn_of_target(const neuroshard_planner& planner, const Cluster& cluster,
                    const PlanOptions& options) {
  if (cluster.host_memory_bytes == 0 || options.trainer.host_memory) return;
  log_line(planner, NEUROSHARD_LOG_WARNING,
           "cluster.host_memory_bytes: changes nothing, the target has no place for tables there");
}

Result<RowSplits> row_splits_of(std::int32_t given) {
  switch (given) {
    case NEUROSHARD_ROW_SPLITS_OFF:
      return RowSplits::kOff;
    case NEUROSHARD_ROW_SPLITS_DEFAULT:
    case NEUROSHARD_ROW_SPLITS_EVEN:
      return RowSplits::kEven;
    case NEUROSHARD_ROW_SPLITS_ANY:
      return RowSplits::kAny;
    default:
      return invalid_input("options.row_splits: found " + std::to_string(given) +
                           ", expected 0 to 3 (NEUROSHARD_ROW_SPLITS_..)");
  }
}

/// Without the hosts, which are the cluster's.
Result<PlanTarget> read_target(const neuroshard_plan_options& given) {
  PlanTarget target;
  NEUROSHARD_ASSIGN_OR_RETURN(target.format, view_of(given.target, "options.target"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view algorithm,
                              view_of(given.algorithm, "options.algorithm"));
  target.any_algorithm = algorithm.empty();
  NEUROSHARD_RETURN_IF_ERROR(check_target(target));
  return target;
}

Result<PlanOptions> read_options(const neuroshard_plan_options& given) {
  PlanOptions options;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view algorithm,
                              view_of(given.algorithm, "options.algorithm"));
  if (!algorithm.empty()) options.algorithm = algorithm;
  options.seed = given.seed;
  options.threads = given.threads;
  options.time_limit_s = given.time_limit_s;
  options.evaluations = given.evaluations;
  NEUROSHARD_ASSIGN_OR_RETURN(options.row_splits, row_splits_of(given.row_splits));
  options.data_parallel = given.data_parallel != 0;
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanTarget target, read_target(given));
  options.trainer = io::trainer_rules(target.format, {});
  options.trainer.equal_columns |= given.equal_columns != 0;
  if (given.cancellation != nullptr) options.cancel = &given.cancellation->token;
  return options;
}

/// Who made a plan; the input's sha256 is added when it is exported with its workload.
void log_result(const neuroshard_planner& planner, const PlanResult& result) {
  if (planner.log == nullptr) return;
  if (result.stopped_early) {
    log_line(planner, NEUROSHARD_LOG_INFO, "stopped by time or the caller: the best plan so far");
  }
  log_line(planner, NEUROSHARD_LOG_INFO,
           result.algorithm + ": plan cost " + std::to_string(result.cost.cost_ms) + " ms, " +
               std::to_string(result.evaluations) + " plans evaluated in " +
               std::to_string(result.seconds) + " s");
}

using Search = std::function<Result<PlanResult>(const CostModels&, const PlanOptions&)>;

/// What `search` finds, with all that plans know of themselves.
Result<PlanHandle> search_plan(const neuroshard_planner& planner,
                               const neuroshard_workload& workload, const GivenCluster& cluster,
                               const neuroshard_plan_options& given, const Search& search) {
  NEUROSHARD_ASSIGN_OR_RETURN(PlanOptions options, read_options(given));
  const std::int32_t devices = cluster.devices.devices;
  const Models models = models_for(planner, cluster.devices_per_host);
  warn_of_guesses(planner, devices, workload.workload);
  warn_of_host_memory(planner, cluster.devices);
  CallbackSink progress(given.progress, given.progress_user_data);
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
  return plan;
}

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
    NEUROSHARD_ASSIGN_OR_RETURN(PlanTarget target, read_target(given));
    target.devices_per_host = devices.devices_per_host;
    return search_plan(
        *planner, *workload, devices, given, [&](const CostModels& models, const PlanOptions& own) {
          if (capabilities(models).host_memory) warn_of_target(*planner, devices.devices, own);
          return plan_for_target(target, *workload, devices.devices, models, own,
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
    const io::TrainerPlaces& places = now->document.places;
    if (devices.devices_per_host == 0) devices.devices_per_host = places.devices_per_host;
    if (!devices.says_buffers) devices.devices.buffers = now->document.buffers;
    NEUROSHARD_ASSIGN_OR_RETURN(PlanHandle found,
                                search_plan(*planner, *workload, devices, given,
                                            [&](const CostModels& models, const PlanOptions& own) {
                                              return replan(workload->workload, devices.devices,
                                                            models, now->document.plan,
                                                            {.bytes = move_limit_bytes}, own);
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
    return result;
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
