#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/commands/compare_summary.h"
#include "apps/commands/plan_report.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/dense_model_flags.h"
#include "apps/flags/exchange_flag.h"
#include "apps/flags/host_flags.h"
#include "apps/flags/policy_flags.h"
#include "apps/flags/search_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/core/check_step_memory.h"
#include "engine/core/step_memory.h"
#include "engine/cost_model/capability_words.h"
#include "engine/cost_model/plan_error.h"
#include "engine/planner/exchange/exchange_choice.h"
#include "engine/planner/planner.h"
#include "io/reports/compare_report.h"
#include "io/tables/tables.h"
#include "io/tables/tasks.h"

namespace neuroshard::apps {
namespace {

/// The tables of the pool that any task has, and the batch size of all.
Workload all_tables_of(const io::TableFile& pool, const std::vector<io::Task>& tasks) {
  std::set<std::int32_t> ids;
  for (const io::Task& task : tasks) ids.insert(task.tables.begin(), task.tables.end());
  Workload any{{}, pool.batch_size.value_or(io::kDefaultBatchSize)};
  for (const std::int32_t id : ids) any.tables.push_back(pool.tables[static_cast<std::size_t>(id)]);
  return any;
}

/// Of every device, in every plan.
std::vector<DeviceCost> costs_in(const io::CompareReport& report) {
  std::vector<DeviceCost> costs;
  for (const io::CompareTask& task : report.tasks) {
    for (const auto& [algorithm, result] : task.results) {
      costs.insert(costs.end(), result.cost.per_device.begin(), result.cost.per_device.end());
    }
  }
  return costs;
}

class CompareCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("tables", "FILE", "the pool that the tasks' ids point into; - = stdin", &tables_)
        .required()
        .reads();
    flags.text("tasks", "FILE", "one task a line: id,id,... dim,dim,...", &tasks_)
        .required()
        .reads();
    declare_devices(flags, &cluster_.devices);
    declare_device_memory(flags, &cluster_.memory_bytes);
    declare_host_memory(flags, &cluster_.host_memory_bytes);
    declare_cost_model(flags, &cost_model_);
    declare_devices_per_host(flags, &devices_per_host_)
        .default_text("8: " + torchrec_alone("goes by it"));
    declare_bandwidths(flags, &bandwidths_);
    declare_buffers(flags, &buffers_);
    declare_exchange(flags, &exchange_,
                     " for each task's cheapest plan in fp32; all are searched anew in it");
    algorithms_ = baseline_names();
    algorithms_.emplace_back(default_algorithm());
    flags.list("algorithms", "A,B,..", "what to compare, of " + join(all_algorithm_names(), ", "),
               &algorithms_);
    policy_.declare(flags);
    dense_.declare(flags);
    declare_search(flags, &search_);
    flags
        .text("output", "FILE", "write plans, costs and seconds as JSON; - = to stdout only",
              &output_)
        .writes();
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_ASSIGN_OR_RETURN(exchange_asked_, exchange_of(exchange_));
    cluster_.exchange = exchange_asked_.format;
    cluster_.buffers = buffers_of(buffers_);
    cluster_.devices_per_host = devices_per_host_;
    NEUROSHARD_RETURN_IF_ERROR(check_algorithms());
    NEUROSHARD_RETURN_IF_ERROR(policy_.apply(flags, algorithms_, &search_.options));
    NEUROSHARD_ASSIGN_OR_RETURN(const io::TableFile pool, io::read_tables(tables_));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<io::Task> tasks, io::read_tasks(tasks_));
    NEUROSHARD_ASSIGN_OR_RETURN(
        NamedCostModels models,
        load_models_for_hosts(cost_model_, {devices_per_host_}, cluster_.devices, bandwidths_));
    NEUROSHARD_RETURN_IF_ERROR(dense_.apply({&models, 1}));
    note_unknown_hosts(flags, models);
    note_unknown_bandwidths(flags, models);
    const ModelOrigin origin = origin_of(models.models);
    io::CompareReport report{cluster_.devices, models.name,
                             origin.hardware,  std::string(word_of(origin.provenance)),
                             algorithms_,      {}};
    settle(&search_);
    limit_host_memory(flags, models, search_.host_memory_fault(), &cluster_);
    note_search_flags(flags, search_, algorithms_, {&models, 1});
    const auto [fewest, most] = std::minmax_element(
        tasks.begin(), tasks.end(),
        [](const io::Task& a, const io::Task& b) { return a.tables.size() < b.tables.size(); });
    policy_.note_other_training(models, cluster_.devices,
                                static_cast<std::int64_t>(fewest->tables.size()),
                                static_cast<std::int64_t>(most->tables.size()));
    NEUROSHARD_RETURN_IF_ERROR(compare(pool, tasks, models.models, report));
    note_guesses(models, {&cluster_.devices, 1}, all_tables_of(pool, tasks), costs_in(report));
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, io::format_compare(report)));
      if (*output_ == "-") {
        for (const std::string& refusal : refusals(report)) print_note(refusal);
        return {};
      }
    }
    if (bounds_.ms.size() != report.tasks.size()) bounds_.ms.clear();
    return print("cost model " + describe(models) + "\n" + exchanges_text(report) + "\n" +
                 compare_summary(Console::of(STDOUT_FILENO), report, bounds_));
  }

 private:
  /// A line for each format that tasks have; "" where all have fp32.
  static std::string exchanges_text(const io::CompareReport& report) {
    std::set<std::string> lines;
    for (const io::CompareTask& task : report.tasks) lines.insert(exchange_text(task.exchange));
    std::string text;
    for (const std::string& line : lines) text += line;
    return text;
  }

  [[nodiscard]] Status check_algorithms() const {
    const std::vector<std::string> known = all_algorithm_names();
    for (const std::string& name : algorithms_) {
      NEUROSHARD_RETURN_IF_ERROR(check_word(name, known).with_context("--algorithms"));
    }
    return {};
  }

  Status compare(const io::TableFile& pool, const std::vector<io::Task>& tasks,
                 const CostModels& models, io::CompareReport& report) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<Workload> workloads, workloads_of(pool, tasks));
    if (search_.target && !workloads.empty()) {
      NEUROSHARD_RETURN_IF_ERROR(keep_to_target(*search_.target, workloads.front(),
                                                cluster_.devices, {}, &exchange_asked_));
    }
    bounds_.plans = bounded_plans(models, cluster_, search_.options);
    ProgressBar progress;
    const auto total = static_cast<std::int64_t>(tasks.size());
    Status refusal;
    bool any_taken = false;
    for (std::int64_t index = 0; index < total; ++index) {
      progress.update("comparing", index, total, "tasks");
      const Workload& workload = workloads[static_cast<std::size_t>(index)];
      Result<std::vector<ComparedPlan>> compared =
          exchange_asked_.any
              ? compare_in_cheapest(workload, models)
              : compare_plans(workload, cluster_, models, algorithms_, search_.options);
      // A search that was cut short may have returned a plan, which would not compare.
      if (cancel_token().cancelled()) {
        return cancelled("interrupted in task " + std::to_string(index + 1) + " of " +
                         std::to_string(total) + ", no comparison made");
      }
      const Status status = compared.status().with_context(where(index));
      if (status.code() == StatusCode::kInvalidInput) {
        if (refusal.ok()) refusal = status;
        compared = refused_by_all(compared.status());
      } else if (!status.ok()) {
        return status;
      } else {
        any_taken = true;
        const auto bound = bound_of(known_bound(*compared), workload, cluster_, models,
                                    search_.options, search::BoundEffort::kQuick);
        if (bound) bounds_.ms.push_back(*bound);
      }
      report.tasks.push_back(task_report(index, workload, models, std::move(compared).value()));
      report.tasks.back().exchange = cluster_.exchange;
    }
    return any_taken ? Status() : refusal;
  }

  /// In the format in which the cheapest plan in fp32 costs least, which the cluster then has.
  Result<std::vector<ComparedPlan>> compare_in_cheapest(const Workload& workload,
                                                        const CostModels& models) {
    cluster_.exchange = {};
    auto plans = compare_plans(workload, cluster_, models, algorithms_, search_.options);
    if (!plans.ok()) return plans;
    const PlanResult* best = nullptr;
    for (const ComparedPlan& one : *plans) {
      if (!one.result.ok()) continue;
      if (best == nullptr || one.result->cost.cost_ms < best->cost.cost_ms) best = &*one.result;
    }
    if (best == nullptr) return plans;
    NEUROSHARD_ASSIGN_OR_RETURN(cluster_.exchange,
                                cheapest_exchange(workload, best->plan, models, cluster_));
    if (is_exact(cluster_.exchange)) return plans;
    return compare_plans(workload, cluster_, models, algorithms_, search_.options);
  }

  /// What no algorithm takes may be one task's fault: the others are compared.
  [[nodiscard]] std::vector<ComparedPlan> refused_by_all(const Status& refusal) const {
    std::vector<ComparedPlan> plans;
    for (const std::string& name : algorithms_) plans.push_back({name, refusal, 0});
    return plans;
  }

  static std::optional<double> known_bound(const std::vector<ComparedPlan>& compared) {
    for (const ComparedPlan& entry : compared) {
      if (entry.result.ok() && entry.result->lower_bound) return entry.result->lower_bound;
    }
    return std::nullopt;
  }

  /// All of them before the first search: a bad last task is told at once.
  [[nodiscard]] Result<std::vector<Workload>> workloads_of(
      const io::TableFile& pool, const std::vector<io::Task>& tasks) const {
    std::vector<Workload> workloads;
    for (const io::Task& task : tasks) {
      Result<Workload> workload = io::make_workload(pool, task);
      Status status = workload.status();
      if (status.ok()) status = check_step_memory(*workload, step_memory(*workload, cluster_));
      if (!status.ok()) {
        return status.with_context(where(static_cast<std::int64_t>(workloads.size())));
      }
      workloads.push_back(std::move(workload).value());
    }
    return workloads;
  }

  [[nodiscard]] std::string where(std::int64_t index) const {
    return tasks_ + ":" + std::to_string(index + 1);
  }

  static io::CompareTask task_report(std::int64_t index, const Workload& workload,
                                     const CostModels& models, std::vector<ComparedPlan> compared) {
    io::CompareTask task{index, static_cast<std::int64_t>(workload.tables.size()), {}};
    for (ComparedPlan& entry : compared) {
      io::CompareResult& result = task.results[entry.algorithm];
      result.seconds = entry.seconds;
      const StatusCode code = entry.result.status().code();
      if (code == StatusCode::kInvalidInput || code == StatusCode::kCancelled) {
        result.refusal = entry.result.status().message();
      }
      if (!entry.result.ok()) continue;
      // What it had when its time was over may be anything but the optimum.
      if (entry.algorithm == kOptimum && entry.result->stopped_early) {
        result.refusal = "the time limit ended it before it had seen all plans";
        continue;
      }
      result.feasible = true;
      result.plan = std::move(entry.result->plan);
      result.cost = std::move(entry.result->cost);
      result.cost_error = error_of(models, result.cost);
      result.skipped = std::move(entry.result->skipped);
    }
    return task;
  }

  std::string tables_;
  std::string tasks_;
  Cluster cluster_;
  std::string cost_model_ = kDefaultCostModel;
  std::int32_t devices_per_host_ = 0;
  std::optional<std::string> buffers_;
  std::optional<std::string> exchange_;
  ExchangeAsked exchange_asked_;
  TorchRecBandwidths bandwidths_;
  std::vector<std::string> algorithms_;
  std::optional<std::string> output_;
  SearchFlags search_{.options = {.threads = 1}};
  PolicyFlags policy_;
  DenseModelFlags dense_;
  TaskBounds bounds_;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace neuroshard::apps
