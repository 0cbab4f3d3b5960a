#include "engine/planner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "engine/core/bytes.h"
#include "engine/core/elapsed.h"
#include "engine/core/held_cells.h"
#include "engine/core/offload.h"
#include "engine/core/thread_pool.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/torchrec_rows.h"
#include "engine/equal_columns/equal_column_search.h"
#include "engine/offload/offload_search.h"
#include "search/feasibility.h"
#include "search/lower_bound.h"
#include "search/replan/feasible_start.h"
#include "search/replan/replan.h"
#include "search/row_shapes.h"
#include "search/sharder.h"

namespace neuroshard {
namespace {

constexpr int kMaxThreads = 4096;

Result<const search::Algorithm*> algorithm_of(const std::string& name) {
  if (const search::Algorithm* found = search::find_algorithm(name)) return found;
  std::string known;
  for (const search::Algorithm& algorithm : search::algorithms()) {
    known += (known.empty() ? "" : ", ") + std::string(algorithm.name);
  }
  return invalid_input("algorithm: found '" + name + "', expected one of " + known);
}

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

/// All but the threads; row shards as far as the models know them.
search::SearchOptions search_options(const PlanOptions& options, const CostModels& models) {
  const RowSplits known = known_row_splits(models);
  return {.seed = options.seed,
          .time_limit_s = options.time_limit_s,
          .cancel = options.cancel,
          .progress = options.progress,
          .evaluations = options.evaluations,
          .row_splits = std::min(options.row_splits, known),
          .row_parts = known_row_parts(models),
          .devices_per_host = known_devices_per_host(models),
          .host_memory_bytes = options.host_memory_bytes,
          .replicate = options.data_parallel && knows_replicas(models),
          .possible_row_splits = std::min(options.possible_row_splits, known),
          .possible_replicas = knows_replicas(models)};
}

/// What searches are given: on a single device every table is whole, whatever it allows elsewhere,
/// a table that may be on each of the devices may be anywhere, and one in host memory is not on all
/// of them.
class OwnWorkload {
 public:
  OwnWorkload(const Workload& workload, std::int32_t devices) : given_(workload) {
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
  [[nodiscard]] const Workload& get() const { return own_ ? *own_ : given_; }

 private:
  const Workload& given_;
  std::optional<Workload> own_;
};

/// kInvalidInput for a table that names devices which the cluster does not have.
Status check_devices(const Workload& workload, const Cluster& cluster) {
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const std::vector<std::int32_t>& devices = workload.tables[index].devices.devices();
    if (devices.empty() || devices.back() < cluster.devices) continue;
    return invalid_input(search::table_label(workload, static_cast<std::int32_t>(index)) +
                         ": found device " + std::to_string(devices.back()) +
                         " among its devices, expected below " + std::to_string(cluster.devices));
  }
  return {};
}

using Search = std::function<Result<search::SearchResult>(
    const search::Problem&, search::PlanEvaluator&, const search::SearchOptions&)>;

/// By the evaluator of `workload`, or one of the kernels that the plan has.
Result<PlanCost> cost_of(const Plan& plan, const Workload& workload, const CostModels& models,
                         CostEvaluator& evaluator) {
  if (plan.offloaded == offloaded_tables(workload)) return evaluator.evaluate(plan);
  const PlannedWorkload planned(workload, plan);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<CostEvaluator> own,
                              make_evaluator(models, planned.get(), plan.devices));
  return own->evaluate(plan);
}

bool may_be_fused(const Table& table) { return table.kernels.fused; }

/// Tables that may not be fused are on every device, or on none.
Workload others_on_every_device(Workload workload) {
  for (Table& table : workload.tables) {
    if (may_be_fused(table)) continue;
    table.sharding.whole = table.sharding.columns = table.sharding.rows = false;
  }
  return workload;
}

using FusedSearch = std::function<Result<search::SearchResult>(const search::Problem&)>;

/// The search with all tables on devices: those whose kernels are others, on every one. Errors: as
/// the search, kInfeasible also where that is no way out.
Result<search::SearchResult> search_fused(const search::Problem& problem,
                                          const search::SearchOptions& options,
                                          const FusedSearch& run) {
  const std::vector<Table>& tables = problem.workload.tables;
  if (std::all_of(tables.begin(), tables.end(), may_be_fused)) {
    return run(problem);
  }
  const bool replicate = options.replicate && problem.cluster.devices > 1;
  for (std::size_t index = 0; index < tables.size(); ++index) {
    if (may_be_fused(tables[index])) continue;
    if (replicate && tables[index].sharding.data_parallel) continue;
    return infeasible(search::table_label(problem.workload, static_cast<std::int32_t>(index)) +
                      ": its compute kernels are " + describe(tables[index].kernels) +
                      ", there is no host memory for tables");
  }
  const Workload own = others_on_every_device(problem.workload);
  const Workload more = others_on_every_device(search::on_more_devices(problem));
  return run({own, problem.cluster, &more});
}

/// kInfeasible where one of them holds more than they have.
Status check_fullest(const std::string& what, const std::vector<std::int64_t>& bytes,
                     std::int64_t memory_bytes) {
  const auto fullest = std::max_element(bytes.begin(), bytes.end());
  if (fullest == bytes.end() || *fullest <= memory_bytes) return {};
  return infeasible(what + " " + std::to_string(fullest - bytes.begin()) + " holds " +
                    format_bytes_apart(*fullest, memory_bytes) + ", " + what + "s have " +
                    format_bytes_apart(memory_bytes, *fullest) + ": this plan needs at least " +
                    format_bytes_at_least(*fullest) + " of memory per " + what);
}

/// The search with its evaluator and threads, everything else done before and after `seconds`.
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

Result<PlanResult> search_plan(const Workload& workload, const Cluster& cluster,
                               const CostModels& models, const PlanOptions& options,
                               double& seconds) {
  NEUROSHARD_ASSIGN_OR_RETURN(const search::Algorithm* algorithm, algorithm_of(options.algorithm));
  const bool offload = options.host_memory_bytes > 0 && knows_host_memory(models);
  const bool equal = options.equal_columns && algorithm->splits_columns && cluster.devices > 1;
  const Search run = [&](const search::Problem& problem, search::PlanEvaluator& evaluator,
                         const search::SearchOptions& own) -> Result<search::SearchResult> {
    search::SearchOptions fused = own;
    fused.advise = !offload;
    Result<search::SearchResult> found = search_fused(problem, own, [&](const auto& tables) {
      return equal ? search_equal_columns({tables, models}, evaluator, *algorithm, fused)
                   : algorithm->run(tables, evaluator, fused);
    });
    if (found.ok() || !offload || found.status().code() != StatusCode::kInfeasible) return found;
    NEUROSHARD_RETURN_IF_ERROR(check_offloaded_bytes(problem.workload));
    return search_offloaded({problem.workload, cluster, models, options.host_memory_bytes},
                            *algorithm, own);
  };
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult result,
                              run_search(workload, cluster, models, options, run, seconds));
  result.algorithm = options.algorithm;
  return result;
}

/// search::feasible_start(), from which on no more than the limit may move.
Result<Plan> start_within(const Workload& workload, const Cluster& cluster, const Plan& now,
                          const MoveLimit& limit) {
  NEUROSHARD_ASSIGN_OR_RETURN(Plan start,
                              search::feasible_start({workload, cluster}, now, limit.whole_tables));
  const std::int64_t bytes = moved_bytes(workload, now, start);
  if (bytes <= limit.bytes) return start;
  return infeasible("the plan that runs does not fit into " + format_bytes(cluster.memory_bytes) +
                    " per device, and what has to go to others is more than may move: " +
                    format_bytes_at_least(bytes) + " would do");
}

bool asked_to_stop(const PlanOptions& options) {
  return options.cancel != nullptr && options.cancel->cancelled();
}

}  // namespace

std::string_view default_algorithm() { return search::kDefaultAlgorithm; }

Result<PlanResult> make_plan(const Workload& workload, const Cluster& cluster,
                             const CostModels& models, const PlanOptions& options) {
  double seconds = 0;
  return search_plan(workload, cluster, models, options, seconds);
}

Result<PlanResult> replan(const Workload& workload, const Cluster& cluster,
                          const CostModels& models, const Plan& now, const MoveLimit& limit,
                          const PlanOptions& options) {
  if (limit.bytes < 0) {
    return invalid_input("move limit: found " + std::to_string(limit.bytes) +
                         " bytes, expected 0 or more");
  }
  if (now.devices != cluster.devices) {
    return invalid_input("devices: found " + std::to_string(cluster.devices) +
                         ", expected the plan's " + std::to_string(now.devices));
  }
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(cluster));
  NEUROSHARD_RETURN_IF_ERROR(
      simulate(workload, with_missing_tables(workload, now), models).status());
  const PlannedWorkload planned(workload, now);
  NEUROSHARD_ASSIGN_OR_RETURN(Plan start, start_within(planned.get(), cluster, now, limit));
  if (options.host_memory_bytes > 0) {
    const std::int32_t each = host_devices(now.devices, known_devices_per_host(models));
    NEUROSHARD_RETURN_IF_ERROR(check_host_memory(workload, start, each, options.host_memory_bytes));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(PlanCost cost, simulate(workload, start, models));
  const Search run = [&](const search::Problem& problem, search::PlanEvaluator& evaluator,
                         const search::SearchOptions& own) {
    Result<search::SearchResult> found = search::replan(problem, evaluator, own, now, start, limit);
    if (found.ok()) found->plan.offloaded = start.offloaded;
    return found;
  };
  double seconds = 0;
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult result,
                              run_search(planned.get(), cluster, models, options, run, seconds));
  result.algorithm = kReplan;
  // Searches do not know all that a plan costs: TorchRec's formula has devices pay for tables whose
  // rows are dealt to others alone.
  if (result.cost.cost_ms > cost.cost_ms) {
    result.plan = std::move(start);
    result.cost = std::move(cost);
  }
  return result;
}

Result<PlanCost> simulate(const Workload& workload, const Plan& plan, const CostModels& models) {
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  if (plan.devices < 1 || plan.devices > kMaxDevices) {
    return invalid_input("devices: found " + std::to_string(plan.devices) + ", expected 1 to " +
                         std::to_string(kMaxDevices));
  }
  NEUROSHARD_RETURN_IF_ERROR(validate(workload, plan));
  if (!knows_replicas(models)) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_no_replicas(plan, "the cost model torchrec alone knows data-parallel tables"));
  }
  if (models.torchrec) {
    const std::int32_t host = host_devices(*models.torchrec, plan.devices);
    NEUROSHARD_RETURN_IF_ERROR(dealt_columns(workload, plan, host).status());
  }
  const PlannedWorkload planned(workload, plan);
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<CostEvaluator> evaluator,
                              make_evaluator(models, planned.get(), plan.devices));
  Plan canonical = plan;  // so that the order of a file's shards does not show in the last digit
  canonicalize(canonical);
  const PlanCost cost = evaluator->evaluate(canonical);
  if (!std::isfinite(cost.cost_ms)) {
    return invalid_input("the cost models give this plan no finite cost");
  }
  return cost;
}

Result<std::optional<double>> cost_lower_bound(const Workload& workload, const Cluster& cluster,
                                               const CostModels& models, RowSplits row_splits,
                                               bool data_parallel) {
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(cluster));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<CostEvaluator> evaluator,
                              make_evaluator(models, workload, cluster.devices));
  const search::SearchOptions options =
      search_options({.row_splits = row_splits, .data_parallel = data_parallel}, models);
  NEUROSHARD_RETURN_IF_ERROR(check_devices(workload, cluster));
  const OwnWorkload tables(workload, cluster.devices);
  return search::lower_bound({tables.get(), cluster}, *evaluator,
                             search::row_shapes(options, cluster.devices));
}

Status check_memory(const Workload& workload, const Plan& plan, std::int64_t memory_bytes) {
  return check_fullest("device", device_bytes(workload, plan), memory_bytes);
}

Status check_host_memory(const Workload& workload, const Plan& plan, std::int32_t devices_per_host,
                         std::int64_t memory_bytes) {
  const std::int32_t each = devices_per_host == 0 ? plan.devices : devices_per_host;
  return check_fullest("host", host_bytes(workload, plan, each), memory_bytes);
}

Result<std::vector<ComparedPlan>> compare_plans(const Workload& workload, const Cluster& cluster,
                                                const CostModels& models,
                                                std::span<const std::string> names,
                                                const PlanOptions& options) {
  for (const std::string& name : names) NEUROSHARD_RETURN_IF_ERROR(algorithm_of(name).status());
  std::vector<ComparedPlan> plans;
  Status refusal;
  bool taken = false;
  for (const std::string& name : names) {
    PlanOptions own = options;
    own.algorithm = name;
    double seconds = 0;
    Result<PlanResult> result = search_plan(workload, cluster, models, own, seconds);
    const StatusCode code = result.status().code();
    if (code == StatusCode::kInvalidInput) {
      refusal = result.status();
    } else if (result.ok() || code == StatusCode::kInfeasible ||
               (code == StatusCode::kCancelled && !asked_to_stop(options))) {
      taken = true;
    } else {
      return result.status();
    }
    plans.push_back({name, std::move(result), seconds});
  }
  if (!taken && !refusal.ok()) return refusal;
  return plans;
}

std::span<const AlgorithmInfo> algorithms() {
  static const std::vector<AlgorithmInfo> infos = [] {
    std::vector<AlgorithmInfo> list;
    for (const search::Algorithm& algorithm : search::algorithms()) {
      list.push_back({algorithm.name, algorithm.summary, algorithm.heeds_evaluations,
                      algorithm.makes_row_shards});
    }
    return list;
  }();
  return infos;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const search::Algorithm& algorithm : search::algorithms()) {
    names.emplace_back(algorithm.name);
  }
  return names;
}

std::vector<std::string> baseline_names() {
  std::vector<std::string> names;
  for (const search::Algorithm& algorithm : search::algorithms()) {
    if (algorithm.baseline) names.emplace_back(algorithm.name);
  }
  return names;
}

}  // namespace neuroshard
