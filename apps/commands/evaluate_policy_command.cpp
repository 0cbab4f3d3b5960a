#include <unistd.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/simulated_hardware.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/policy_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/core/algorithm_name.h"
#include "engine/core/decimal.h"
#include "engine/ground_truth/policy_comparison.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/policy/policy_file.h"
#include "io/json/json_writer.h"

namespace neuroshard::apps {
namespace {

constexpr std::int32_t kMostTasks = 100'000;

class EvaluatePolicyCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("policy", "FILE", "the policy, as `train policy` writes it", &policy_)
        .required()
        .reads();
    flags
        .text("tables", "FILE",
              "the pool that tasks draw tables from, others than it was trained on; - = stdin",
              &tables_)
        .required()
        .reads();
    declare_devices(flags, &trial_.cluster.devices);
    declare_device_memory(flags, &trial_.cluster.memory_bytes);
    declare_cost_model(flags, &cost_model_);
    declare_task_tables(flags, &task_tables_, "what the policy was trained on");
    flags.integer("tasks", "how many random tasks", &trial_.tasks, 1, kMostTasks);
    flags.integer("samples", "plans to draw beside the policy's first choice", &trial_.samples, 0,
                  kMostSamples);
    flags.text("profile", "NAME|FILE",
               "simulate the plans on this hardware, too, with no network in between; +LINKS picks "
               "other links",
               &profile_);
    declare_batch_size(flags, &batch_size_);
    flags.integer("threads", "threads of the searches", &trial_.threads, 1, kMaxThreads)
        .default_text("1, so that seconds compare");
    flags.seed("seed", "of the tasks and the plans drawn", &trial_.seed);
    flags.text("output", "FILE", "write the means as JSON; - = to stdout only", &output_).writes();
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const PolicyModel policy, read_policy(policy_));
    NEUROSHARD_ASSIGN_OR_RETURN(LoadedWorkload loaded, load_workload(tables_, batch_size_));
    note_if_any(loaded.batch_note);
    trial_.min_tables = policy.tasks.min_tables;
    trial_.max_tables = policy.tasks.max_tables;
    NEUROSHARD_RETURN_IF_ERROR(
        set_task_tables(task_tables_, &trial_.min_tables, &trial_.max_tables));
    if (!flags.given("cost-model") && is_shipped_model(policy.origin.cost_model)) {
      cost_model_ = policy.origin.cost_model;
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, load_cost_models(cost_model_));
    note_differences(policy, loaded, models);
    std::optional<ChosenProfile> hardware;
    if (profile_) {
      NEUROSHARD_ASSIGN_OR_RETURN(hardware,
                                  simulated_hardware(*profile_, {}, trial_.cluster.devices));
      trial_.hardware = &*hardware;
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const PolicyComparison found,
                                compare(loaded.workload, models.models, policy));
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, json_of(found, models)));
      if (*output_ == "-") return {};
    }
    return print("cost model " + describe(models) + "\n" + text_of(found, hardware));
  }

 private:
  static bool is_shipped_model(const std::string& name) {
    return !shipped_model_bytes(name).empty();
  }

  void note_differences(const PolicyModel& policy, const LoadedWorkload& loaded,
                        const NamedCostModels& models) const {
    note_policy_training(policy, policy_, models, trial_.cluster.devices, trial_.min_tables,
                         trial_.max_tables);
    const PolicyHistory& history = policy.history;
    const auto tables = static_cast<std::int64_t>(loaded.workload.tables.size());
    if (loaded.sha256 == policy.origin.pool_sha256) {
      print_note(policy_ + ": was trained on " + with_commas(history.training_tables) +
                 " of these " + counted(tables, "table") + ", other ones would tell more");
    }
    if (history.stopped_early) print_note(policy_ + ": its training was stopped early");
  }

  Result<PolicyComparison> compare(const Workload& pool, const CostModels& models,
                                   const PolicyModel& policy) {
    ProgressBar progress;
    trial_.progress = &progress;
    trial_.cancel = &cancel_token();
    Result<PolicyComparison> found = compare_policy(pool, models, policy, trial_);
    if (found.status().code() == StatusCode::kCancelled) {
      return cancelled("interrupted, nothing evaluated");
    }
    return found;
  }

  static std::string name_of(const TriedAlgorithm& tried) {
    std::string name = display_name(tried.algorithm);
    if (tried.samples > 0) name += ", best of " + with_commas(tried.samples) + " more";
    if (tried.time_limit_s > 0) name += ", " + general_decimals(tried.time_limit_s, 2) + " s";
    return name;
  }

  [[nodiscard]] std::string text_of(const PolicyComparison& found,
                                    const std::optional<ChosenProfile>& hardware) const {
    std::vector<Column> columns{{"algorithm", Align::kLeft}, {"solved"}, {"mean ms"}};
    if (hardware) columns.push_back({"simulated ms"});
    columns.push_back({"balance"});
    columns.push_back({"seconds"});
    TextTable table(columns);
    for (const TriedAlgorithm& tried : found.algorithms) {
      std::vector<std::string> cells{name_of(tried), with_commas(tried.solved),
                                     cost_text(tried.cost_ms)};
      if (hardware) cells.push_back(cost_text(tried.simulated_ms));
      cells.push_back(cost_text(tried.balance.mean_over_largest));
      cells.push_back(general_decimals(tried.seconds, 2));
      table.add(std::move(cells));
    }
    const std::string tasks = counted(trial_.tasks, "random task") + " on " +
                              counted(trial_.cluster.devices, "device") + ", means over the " +
                              std::to_string(found.compared) + " that all have plans for\n";
    const std::string simulated =
        hardware ? "simulated: " + neuroshard::describe(*hardware) + ", no network in between\n"
                 : "";
    return tasks + simulated + "\n" + table.render(Console::of(STDOUT_FILENO)) +
           "balance: mean compute of the devices over the largest\n";
  }

  static std::string cost_text(double ms) { return std::isnan(ms) ? "-" : fixed_decimals(ms, 3); }

  [[nodiscard]] std::string json_of(const PolicyComparison& found,
                                    const NamedCostModels& models) const {
    const ModelOrigin origin = origin_of(models.models);
    io::JsonWriter json;
    json.begin_object();
    json.key("format").text("neuroshard-policy-evaluation");
    json.key("version").integer(1);
    json.key("cost_model").text(models.name);
    json.key("hardware").text(origin.hardware);
    json.key("cost_provenance").text(word_of(origin.provenance));
    json.key("devices").integer(trial_.cluster.devices);
    json.key("tasks").integer(trial_.tasks);
    json.key("compared").integer(found.compared);
    json.key("algorithms").begin_array();
    for (const TriedAlgorithm& tried : found.algorithms) {
      json.begin_object(io::JsonWriter::Layout::kLine);
      json.key("algorithm").text(tried.algorithm);
      json.key("samples").integer(tried.samples);
      json.key("solved").integer(tried.solved);
      json.key("cost_ms").number(tried.cost_ms);
      json.key("simulated_ms").number(tried.simulated_ms);
      json.key("compute_ms").number(tried.compute_ms);
      json.key("balance").number(tried.balance.mean_over_largest);
      json.key("least_over_largest").number(tried.balance.least_over_largest);
      json.key("seconds").number(tried.seconds);
      json.end_object();
    }
    json.end_array();
    json.end_object();
    return json.take();
  }

  std::string policy_;
  std::string tables_;
  std::string cost_model_ = kDefaultCostModel;
  std::vector<std::int32_t> task_tables_;
  std::optional<std::string> profile_;
  std::optional<std::int64_t> batch_size_;
  std::optional<std::string> output_;
  PolicyTrial trial_;
};

}  // namespace

std::unique_ptr<Command> make_evaluate_policy_command() {
  return std::make_unique<EvaluatePolicyCommand>();
}

}  // namespace neuroshard::apps
