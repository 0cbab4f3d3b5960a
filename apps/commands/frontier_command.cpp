#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands/frontier_limits.h"
#include "apps/commands/plan_report.h"
#include "apps/commands/target_file.h"
#include "apps/commands/written_plan.h"
#include "apps/console/console.h"
#include "apps/console/counted_progress.h"
#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/dense_model_flags.h"
#include "apps/flags/exchange_flag.h"
#include "apps/flags/host_flags.h"
#include "apps/flags/search_flags.h"
#include "apps/make_commands.h"
#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "engine/core/step_memory.h"
#include "engine/cost_model/capability_words.h"
#include "engine/planner/exchange/exchange_choice.h"
#include "engine/planner/frontier/frontier.h"
#include "io/plans/plan_tables.h"
#include "io/reports/frontier_report.h"

namespace neuroshard::apps {
namespace {

/// Of devices where no flag says how much they have: more than any tables take.
constexpr std::int64_t kAnyMemory = std::int64_t{1} << 50;
/// Most numbers of devices: a bound for mistyped lists.
constexpr std::size_t kMostCounts = 64;

class FrontierCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("tables", "FILE", "tables to place; - = stdin", &tables_).required().reads();
    flags
        .integers("devices", "numbers of devices", &devices_, 1, kMaxDevices,
                  FlagSet::Repeats::kRefused)
        .required();
    flags
        .bytes("device-memory", "the most memory for tables that a device has", &like_.memory_bytes)
        .default_text("as much as is of use");
    declare_buffers(flags, &buffers_);
    declare_batch_size(flags, &batch_size_);
    declare_cost_model(flags, &cost_model_);
    declare_frontier_search(flags, &search_);
    flags.choice(
        "least", "WHAT",
        "the one plan with the least of it: time, memory (per device) or devices; without, "
        "all plans",
        &least_, {"time", "memory", "devices"});
    flags.text("within", "LIMITS",
               "what that plan keeps to: a time such as 2.5ms, a memory per device such as 40GB, a "
               "number of devices such as 8, or several of these separated by commas",
               &within_);
    flags.choice("format", "NAME", "of the output: json, with whole plans, or html, a page",
                 &format_, {"json", "html"});
    flags.text("output", "FILE", "write the plans to a file; - = to stdout only", &output_)
        .writes();
    declare_devices_per_host(flags, &devices_per_host_, "; fewer devices are one host")
        .default_text("8: " + torchrec_alone("goes by it"));
    declare_bandwidths(flags, &bandwidths_);
    declare_exchange(
        flags, &exchange_,
        " on the most devices, one format for all plans, which takes two searches of a "
        "second more where no --evaluations limit them");
    dense_.declare(flags);
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_RETURN_IF_ERROR(check_flags());
    NEUROSHARD_ASSIGN_OR_RETURN(ExchangeAsked asked, exchange_of(exchange_));
    like_.exchange = asked.format;
    if (!flags.given("device-memory")) like_.memory_bytes = kAnyMemory;
    FrontierLimits limits;
    if (within_) {
      NEUROSHARD_ASSIGN_OR_RETURN(limits, parse_frontier_limits(*within_));
    }
    like_.buffers = buffers_of(buffers_);
    like_.devices_per_host = devices_per_host_;
    NEUROSHARD_ASSIGN_OR_RETURN(LoadedWorkload loaded, load_workload(tables_, batch_size_));
    NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels models, load_models_with(cost_model_, bandwidths_));
    NEUROSHARD_RETURN_IF_ERROR(dense_.apply({&models, 1}));
    NEUROSHARD_RETURN_IF_ERROR(check_batch(models.models, loaded, tables_, batch_size_));
    for (const std::int32_t devices : devices_) {
      if (devices <= devices_per_host_) continue;
      NEUROSHARD_RETURN_IF_ERROR(check_hosts(models, {devices_per_host_}, devices));
    }
    note_if_any(loaded.batch_note);
    note_unknown_hosts(flags, models);
    note_unknown_bandwidths(flags, models);
    settle(&search_);
    if (search_.target) {
      NEUROSHARD_RETURN_IF_ERROR(
          keep_to_target(*search_.target, loaded.workload, devices_.front(), {}, &asked));
    }
    note_search_flags(flags, search_, {&search_.options.algorithm, 1}, {&models, 1});
    if (asked.any) choose_exchange(loaded.workload, models.models);
    NEUROSHARD_ASSIGN_OR_RETURN(Frontier frontier, search(loaded, models));
    if (least_) NEUROSHARD_RETURN_IF_ERROR(keep_least(limits, frontier));
    note_guesses_of(frontier, loaded.workload, models);
    return hand_over(frontier, loaded, models);
  }

 private:
  [[nodiscard]] Status check_flags() const {
    if (devices_.size() > kMostCounts) {
      return invalid_input("--devices: found " + std::to_string(devices_.size()) +
                           " numbers, expected at most " + std::to_string(kMostCounts));
    }
    if (within_ && !least_) {
      return invalid_input("--within: found '" + *within_ +
                           "' without --least, expected what is to be least within it");
    }
    if (format_ != "json" && !output_) {
      return invalid_input("--format: found '" + format_ +
                           "' without --output, expected a file for the page");
    }
    return {};
  }

  /// Where no plan is found it stays fp32: the frontier tells why.
  void choose_exchange(const Workload& workload, const CostModels& models) {
    Cluster most = like_;
    most.devices = *std::max_element(devices_.begin(), devices_.end());
    PlanOptions options = search_.options;
    options.time_limit_s = options.evaluations > 0 ? 0 : 1;
    options.advise = false;
    const auto found = search_any_exchange(
        workload, models,
        [&](const Cluster& one) { return make_plan(workload, one, models, options); }, most);
    like_.exchange = found.ok() ? most.exchange : ExchangeFormat{};
  }

  Result<Frontier> search(const LoadedWorkload& loaded, const NamedCostModels& models) {
    CountedProgress progress("setting");
    std::optional<PlanFile> file;
    if (search_.target) file = target_file(*search_.target, loaded, like_, models);
    FrontierOptions options{
        devices_, search_.options,
        [&](std::size_t setting, std::size_t of) { progress.next(setting, of); },
        file ? &*file : nullptr};
    options.search.progress = &progress;
    return find_frontier(loaded.workload, like_, models.models, options);
  }

  /// kInfeasible where no plan is within the limits.
  Status keep_least(const FrontierLimits& limits, Frontier& frontier) const {
    const FrontierPoint* best = least(frontier.points, least_of(*least_), limits);
    if (best == nullptr) {
      return infeasible("no plan found within " + *within_ + " among " +
                        counted(std::ssize(frontier.points), "plan"));
    }
    FrontierPoint only = *best;
    frontier.points.assign(1, std::move(only));
    return {};
  }

  static void note_guesses_of(const Frontier& frontier, const Workload& workload,
                              const NamedCostModels& models) {
    std::vector<std::int32_t> counts;
    std::vector<DeviceCost> costs;
    for (const FrontierPoint& point : frontier.points) {
      const std::int32_t devices = point.result.plan.devices;
      if (counts.empty() || counts.back() != devices) counts.push_back(devices);
      const std::vector<DeviceCost>& own = point.result.cost.per_device;
      costs.insert(costs.end(), own.begin(), own.end());
    }
    note_guesses(models, counts, workload, costs);
  }

  Status hand_over(const Frontier& frontier, const LoadedWorkload& loaded,
                   const NamedCostModels& models) const {
    const std::string ended = ended_by_time("searches", "other plans");
    if (frontier.interrupted) print_note("interrupted: these are the plans found so far");
    if (output_) {
      const io::FrontierReport report = report_of(frontier, loaded, models);
      NEUROSHARD_RETURN_IF_ERROR(deliver(
          *output_, format_ == "html" ? format_frontier_page(report) : format_frontier(report)));
      if (*output_ == "-") {
        if (frontier.stopped_early) print_note(ended);
        return {};
      }
    }
    std::string text = described(loaded.workload) + "\ncost model " + describe(models) + "\n" +
                       exchange_text(like_.exchange) + "\n" + table_of(frontier) + "\n";
    if (!least_) {
      text +=
          "each plan has fewer devices, less memory on the fullest or a lower cost than any other "
          "found\n";
    }
    for (const std::string& refusal : frontier.refusals) text += "no plan on " + refusal + "\n";
    if (frontier.stopped_early) text += ended + "\n";
    if (output_) text += "plans written to " + *output_ + "\n";
    return print(text);
  }

  [[nodiscard]] std::string described(const Workload& workload) const {
    return describe_workload(workload, step_memory(workload, like_));
  }

  [[nodiscard]] io::FrontierReport report_of(const Frontier& frontier, const LoadedWorkload& loaded,
                                             const NamedCostModels& models) const {
    io::FrontierReport report{described(loaded.workload), describe(models), {}};
    for (const FrontierPoint& point : frontier.points) {
      io::PlanDocument own;
      own.setting.table_names = io::names_for_plan(loaded.workload);
      own.places.devices_per_host = hosts_for(point.result.plan.devices);
      Cluster cluster = like_;
      cluster.memory_bytes = point.memory_bytes;
      io::PlanDocument document =
          document_of(loaded, cluster, models, point.result, search_.options.seed, std::move(own));
      report.plans.push_back({point.memory_bytes, std::move(document)});
    }
    return report;
  }

  /// Devices of one of so many devices' hosts, as plan files say it; 0: nobody says.
  [[nodiscard]] std::int32_t hosts_for(std::int32_t devices) const {
    const std::int32_t each = std::min(devices, devices_per_host_);
    return each > 0 && devices % each == 0 ? each : 0;
  }

  [[nodiscard]] static std::string table_of(const Frontier& frontier) {
    const Console console = Console::of(STDOUT_FILENO);
    TextTable table(
        {{"devices"}, {"memory each"}, {"cost ms"}, {"device ms"}, {"shards"}, {"", Align::kLeft}});
    double dearest = 0;
    double cheapest = frontier.points.front().result.cost.cost_ms;
    for (const FrontierPoint& point : frontier.points) {
      dearest = std::max(dearest, point.result.cost.cost_ms);
      cheapest = std::min(cheapest, point.result.cost.cost_ms);
    }
    for (const FrontierPoint& point : frontier.points) {
      const double cost = point.result.cost.cost_ms;
      const std::int32_t devices = point.result.plan.devices;
      table.add({std::to_string(devices), format_bytes(point.memory_bytes),
                 milliseconds(cost, cheapest), milliseconds(cost * devices, cost * devices),
                 std::to_string(point.result.plan.shards.size()),
                 console.bar(dearest > 0 ? cost / dearest : 0, kBarColumns)});
    }
    return table.render(console);
  }

  std::string tables_;
  std::vector<std::int32_t> devices_;
  Cluster like_;
  std::optional<std::int64_t> batch_size_;
  std::optional<std::string> buffers_;
  std::optional<std::string> exchange_;
  std::string cost_model_ = kDefaultCostModel;
  std::int32_t devices_per_host_ = 0;
  TorchRecBandwidths bandwidths_;
  SearchFlags search_;
  DenseModelFlags dense_;
  std::optional<std::string> least_;
  std::optional<std::string> within_;
  std::string format_ = "json";
  std::optional<std::string> output_;
};

}  // namespace

std::unique_ptr<Command> make_frontier_command() { return std::make_unique<FrontierCommand>(); }

}  // namespace neuroshard::apps
