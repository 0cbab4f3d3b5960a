#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands/plan_report.h"
#include "apps/commands/sweep_summary.h"
#include "apps/commands/target_file.h"
#include "apps/console/console.h"
#include "apps/console/counted_progress.h"
#include "apps/console/output.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/dense_model_flags.h"
#include "apps/flags/exchange_flag.h"
#include "apps/flags/host_flags.h"
#include "apps/flags/search_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/core/check_step_memory.h"
#include "engine/core/elapsed.h"
#include "engine/core/offload.h"
#include "engine/core/step_memory.h"
#include "engine/cost_model/capability_words.h"
#include "engine/planner/exchange/exchange_choice.h"
#include "engine/planner/frontier/plan_archive.h"
#include "engine/planner/plan_for_file.h"
#include "engine/planner/planner.h"

namespace neuroshard::apps {
namespace {

/// Most clusters of one sweep: a bound for mistyped lists, hours of searches by themselves.
constexpr std::size_t kMaxClusters = 256;

class SweepCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("tables", "FILE", "tables to place; - = stdin", &tables_).required().reads();
    flags
        .integers("devices", "numbers of devices", &devices_, 1, kMaxDevices,
                  FlagSet::Repeats::kRefused)
        .required();
    flags
        .sizes("device-memory", "sizes of the memory for tables on each device, such as 40GB,80GB",
               &memory_bytes_)
        .required();
    declare_host_memory(flags, &like_.host_memory_bytes);
    declare_buffers(flags, &buffers_);
    declare_batch_size(flags, &batch_size_);
    declare_cost_model(flags, &cost_model_);
    flags.choice("algorithm", "NAME", "one of " + join(algorithm_names(), ", "),
                 &search_.options.algorithm, algorithm_names());
    declare_search(flags, &search_);
    flags.text("output", "FILE", "write the table as JSON; - = to stdout only", &output_).writes();
    declare_devices_per_host(flags, &devices_per_host_, "; fewer devices are one host")
        .default_text("8: " + torchrec_alone("goes by it"));
    declare_bandwidths(flags, &bandwidths_);
    declare_exchange(flags, &exchange_,
                     " with the most memory, a format for each number of devices, which takes two "
                     "searches more");
    dense_.declare(flags);
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_RETURN_IF_ERROR(check_count());
    NEUROSHARD_ASSIGN_OR_RETURN(ExchangeAsked asked, exchange_of(exchange_));
    like_.exchange = asked.format;
    like_.buffers = buffers_of(buffers_);
    like_.devices_per_host = devices_per_host_;
    NEUROSHARD_ASSIGN_OR_RETURN(LoadedWorkload loaded, load_workload(tables_, batch_size_));
    NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels models, load_models_with(cost_model_, bandwidths_));
    NEUROSHARD_RETURN_IF_ERROR(dense_.apply({&models, 1}));
    NEUROSHARD_RETURN_IF_ERROR(check_batch(models.models, loaded, tables_, batch_size_));
    note_if_any(loaded.batch_note);
    note_unknown_hosts(flags, models);
    note_unknown_bandwidths(flags, models);
    settle(&search_);
    if (search_.target) {
      NEUROSHARD_RETURN_IF_ERROR(
          keep_to_target(*search_.target, loaded.workload, devices_.front(), {}, &asked));
    }
    limit_host_memory(flags, models, search_.host_memory_fault(), &like_);
    std::vector<Cluster> clusters = clusters_asked_for();
    note_search_flags(flags, search_, {&search_.options.algorithm, 1}, {&models, 1});
    const Workload& workload = loaded.workload;
    const ModelOrigin origin = origin_of(models.models);
    report_ = {models.name,
               origin.hardware,
               std::string(word_of(origin.provenance)),
               workload.batch_size,
               std::ssize(workload.tables),
               like_.host_memory_bytes,
               {}};
    if (models.models.dense) report_.dense_model = models.models.dense->origin().model;
    archive_.emplace(workload, like_.buffers);
    if (asked.any) choose_exchanges(loaded, models, clusters);
    NEUROSHARD_RETURN_IF_ERROR(sweep(loaded, clusters, models));
    NEUROSHARD_RETURN_IF_ERROR(share_plans(workload, models.models));
    note_guesses(models, planned_devices(), workload, {&least_, 1});
    NEUROSHARD_RETURN_IF_ERROR(hand_over(workload, models));
    return outcome();
  }

 private:
  [[nodiscard]] Status check_count() const {
    if (devices_.size() * memory_bytes_.size() > kMaxClusters) {
      return invalid_input("--devices, --device-memory: found " + std::to_string(devices_.size()) +
                           " x " + std::to_string(memory_bytes_.size()) +
                           " clusters, expected at most " + std::to_string(kMaxClusters));
    }
    return {};
  }

  /// Sorted by devices, then memory.
  [[nodiscard]] std::vector<Cluster> clusters_asked_for() {
    std::sort(devices_.begin(), devices_.end());
    std::sort(memory_bytes_.begin(), memory_bytes_.end());
    std::vector<Cluster> clusters;
    for (const std::int32_t devices : devices_) {
      for (const std::int64_t memory : memory_bytes_) {
        clusters.push_back(like_);
        clusters.back().devices = devices;
        clusters.back().memory_bytes = memory;
      }
    }
    return clusters;
  }

  /// Of as many devices all clusters get the same, so that their plans compare. Where no plan is
  /// found it stays fp32: their rows tell why.
  void choose_exchanges(const LoadedWorkload& loaded, const NamedCostModels& models,
                        std::vector<Cluster>& clusters) {
    Cluster last;
    for (auto cluster = clusters.rbegin(); cluster != clusters.rend(); ++cluster) {
      if (cluster->devices != last.devices) {
        last = *cluster;
        const auto found = search_any_exchange(
            loaded.workload, models.models,
            [&](const Cluster& one) { return plan_for(loaded, one, models); }, last);
        if (!found.ok()) last.exchange = {};
        if (found.ok()) archive_->keep(found->plan, found->cost.cost_ms);
      }
      cluster->exchange = last.exchange;
    }
  }

  /// A plan for each cluster. What only some of them are refused is their outcome.
  Status sweep(const LoadedWorkload& loaded, const std::vector<Cluster>& clusters,
               const NamedCostModels& models) {
    const Workload& workload = loaded.workload;
    CountedProgress progress("cluster");
    search_.options.progress = &progress;
    Status refusal;
    bool any_taken = false;
    std::size_t number = 0;
    for (const Cluster& cluster : clusters) {
      progress.next(++number, clusters.size());
      NEUROSHARD_RETURN_IF_ERROR(check_step_memory(workload, step_memory(workload, cluster)));
      const auto began = std::chrono::steady_clock::now();
      const Result<PlanResult> planned = plan_for(loaded, cluster, models);
      const double seconds = seconds_since(began);
      // A search that was cut short may have returned a plan, which would not compare.
      if (cancel_token().cancelled()) return interrupted(clusters);
      const Status& status = planned.status();
      if (status.code() == StatusCode::kInvalidInput) {
        if (refusal.ok()) refusal = status;
      } else if (status.ok() || status.code() == StatusCode::kInfeasible ||
                 status.code() == StatusCode::kCancelled) {  // by time, without any plan
        any_taken = true;
      } else {
        return status.with_context(size_text(cluster));
      }
      if (status.code() == StatusCode::kInfeasible) {
        shortage_ = "; on " + size_text(cluster) + ": " + status.message();
      }
      add_row(workload, cluster, models.models, planned, seconds);
    }
    return any_taken ? Status() : refusal;
  }

  /// As the target's trainer would be given it.
  [[nodiscard]] Result<PlanResult> plan_for(const LoadedWorkload& loaded, const Cluster& cluster,
                                            const NamedCostModels& models) const {
    if (cluster.devices > devices_per_host_) {
      NEUROSHARD_RETURN_IF_ERROR(check_hosts(models, {devices_per_host_}, cluster.devices));
    }
    if (!search_.target) {
      NEUROSHARD_ASSIGN_OR_RETURN(std::vector<ComparedPlan> plans,
                                  compare_plans(loaded.workload, cluster, models.models,
                                                {&search_.options.algorithm, 1}, search_.options));
      return std::move(plans.front().result);
    }
    const PlanFile file = target_file(*search_.target, loaded, cluster, models);
    NEUROSHARD_ASSIGN_OR_RETURN(PlanResult found, make_plan_for(file, loaded.workload, cluster,
                                                                models.models, search_.options));
    const Status refused = file.refusal(found);
    if (!refused.ok()) return infeasible(refused.message());
    return found;
  }

  void add_row(const Workload& workload, const Cluster& cluster, const CostModels& models,
               const Result<PlanResult>& planned, double seconds) {
    io::SweepCluster row{
        .cluster = cluster, .refusal = planned.status().message(), .seconds = seconds};
    if (planned.ok()) {
      const PlanResult& plan = *planned;
      show_plan(plan.plan, plan.cost, row);
      row.lower_bound_ms = bound_of(plan.lower_bound, workload, cluster, models, search_.options,
                                    search::BoundEffort::kQuick);
      row.stopped_early = plan.stopped_early;
      row.skipped = plan.skipped;
      archive_->keep(plan.plan, plan.cost.cost_ms);
    }
    report_.clusters.push_back(std::move(row));
  }

  void show_plan(const Plan& plan, const PlanCost& cost, io::SweepCluster& row) {
    row.feasible = true;
    row.refusal.clear();
    row.cost_ms = cost.cost_ms;
    row.memory_bytes = 0;
    row.host_bytes = 0;
    for (const DeviceCost& device : cost.per_device) {
      row.memory_bytes = std::max(row.memory_bytes, device.memory_bytes);
      row.host_bytes += device.host_bytes;
      least_.compute_ms = std::min(least_.compute_ms, device.compute_ms);
      least_.forward_comm_ms = std::min(least_.forward_comm_ms, device.forward_comm_ms);
      least_.backward_comm_ms = std::min(least_.backward_comm_ms, device.backward_comm_ms);
    }
    row.shards = std::ssize(plan.shards);
    row.offloaded = std::ssize(offloaded_tables(plan));
  }

  /// Of all plans found for as many devices, the cheapest that fits is a cluster's: so that more
  /// memory never costs more.
  Status share_plans(const Workload& workload, const CostModels& models) {
    for (io::SweepCluster& row : report_.clusters) {
      const Cluster& cluster = row.cluster;
      const ArchivedPlan* best = archive_->within(cluster.devices, cluster.memory_bytes);
      if (best == nullptr || (row.feasible && row.cost_ms <= best->cost_ms)) continue;
      NEUROSHARD_ASSIGN_OR_RETURN(const PlanCost cost,
                                  simulate(workload, best->plan, models, cluster));
      show_plan(best->plan, cost, row);
    }
    return {};
  }

  /// What is there is shown, if that has a plan.
  [[nodiscard]] Status interrupted(const std::vector<Cluster>& clusters) const {
    const std::size_t done = report_.clusters.size();
    const std::string where = "interrupted in cluster " + std::to_string(done + 1) + " of " +
                              std::to_string(clusters.size());
    if (planned_devices().empty()) return cancelled(where + ", no plan made");
    print_note(where + ": those before it are shown");
    return {};
  }

  /// Each once.
  [[nodiscard]] std::vector<std::int32_t> planned_devices() const {
    std::vector<std::int32_t> counts;
    for (const io::SweepCluster& row : report_.clusters) {
      const std::int32_t devices = row.cluster.devices;
      if (row.feasible && (counts.empty() || counts.back() != devices)) counts.push_back(devices);
    }
    return counts;
  }

  [[nodiscard]] Status hand_over(const Workload& workload, const NamedCostModels& models) const {
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, io::format_sweep(report_)));
      if (*output_ == "-") {
        for (const std::string& remark : time_remarks(report_)) print_note(remark);
        return {};
      }
    }
    const Cluster& largest = report_.clusters.back().cluster;
    return print(describe_workload(workload, step_memory(workload, largest)) + "\ncost model " +
                 describe(models) + "\n" + exchanges_text() + "\n" +
                 sweep_summary(Console::of(STDOUT_FILENO), report_,
                               bounded_plans(models.models, largest, search_.options)));
  }

  /// A line for each format that clusters have; "" where all have fp32.
  [[nodiscard]] std::string exchanges_text() const {
    std::string text;
    for (const io::SweepCluster& row : report_.clusters) {
      const std::string line = exchange_text(row.cluster.exchange);
      if (text.find(line) == std::string::npos) text += line;
    }
    return text;
  }

  /// kInfeasible where no cluster has a plan, with what the largest that was searched would need.
  [[nodiscard]] Status outcome() const {
    if (!planned_devices().empty()) return {};
    return infeasible("no plan on any of " + counted(std::ssize(report_.clusters), "cluster") +
                      shortage_);
  }

  std::string tables_;
  std::vector<std::int32_t> devices_;
  std::vector<std::int64_t> memory_bytes_;
  std::optional<std::int64_t> batch_size_;
  std::optional<std::string> buffers_;
  std::optional<std::string> exchange_;
  std::string cost_model_ = kDefaultCostModel;
  std::int32_t devices_per_host_ = 0;
  Cluster like_;  ///< what all clusters have
  TorchRecBandwidths bandwidths_;
  std::optional<std::string> output_;
  SearchFlags search_;
  DenseModelFlags dense_;
  io::SweepReport report_;
  std::optional<PlanArchive> archive_;
  std::string shortage_;  ///< of the last cluster that has not the memory
  DeviceCost least_;      ///< each time the least of all devices of all plans, or 0
};

}  // namespace

std::unique_ptr<Command> make_sweep_command() { return std::make_unique<SweepCommand>(); }

}  // namespace neuroshard::apps
