#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/joint_flags.h"
#include "apps/flags/policy_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/core/cluster.h"
#include "engine/core/decimal.h"
#include "engine/cost_model/cost_model_file.h"
#include "engine/ground_truth/joint_policy.h"
#include "engine/policy/policy_checkpoint.h"
#include "engine/policy/policy_file.h"
#include "engine/policy/train_policy.h"
#include "io/file.h"
#include "io/sha256.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

constexpr std::size_t kLooksShown = 8;
constexpr double kLongestTraining = 1e6;  // seconds

class TrainPolicyCommand final : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.text("tables", "FILE", "the pool that training draws tables from; - = stdin", &tables_)
        .required()
        .reads();
    declare_cost_model(flags, &cost_model_);
    joint_.declare(flags);
    declare_device_memory(flags, &options_.tasks.memory_bytes);
    flags
        .integers("devices", "numbers of devices to train for", &options_.tasks.devices, 1,
                  kMaxDevices, FlagSet::Repeats::kRefused)
        .required();
    flags.choice("kind", "NAME", "what kind of policy; autoshard remembers the tables before",
                 &kind_,
                 {std::string(to_string(PolicyKind::kDreamshard)),
                  std::string(to_string(PolicyKind::kAutoshard))});
    flags
        .choice("reward", "WHAT", "what plans are to be good in: cost, or balance of the compute",
                &reward_,
                {std::string(to_string(PolicyReward::kCost)),
                 std::string(to_string(PolicyReward::kBalance))})
        .default_text("cost for dreamshard, balance for autoshard");
    flags.text("output", "FILE", "the policy, one safetensors file", &output_)
        .required()
        .writes("policy");
    declare_task_tables(flags, &task_tables_, "10,60, or fewer where the pool is small");
    flags.integer("updates", "steps of the optimizer, after those that learn to do what rules do",
                  &options_.updates, 1, 1'000'000);
    flags
        .number("time-limit", "SECONDS", "then the training stops with the best policy so far",
                &control_.time_limit_s, {0, kLongestTraining})
        .default_text("none");
    flags.integer("episodes", "plans drawn of each task", &options_.episodes, 2, 1024);
    flags
        .text(
            "checkpoint", "FILE",
            "where the training stands in the end; if there is such a file, it goes on from there",
            &checkpoint_)
        .writes();
    declare_batch_size(flags, &batch_size_);
    declare_threads(flags, &control_.threads);
    flags.seed("seed", "of the tasks, the first weights and the plans drawn", &options_.seed);
    flags.text("report", "FILE", "settings and learning curve as JSON", &report_).writes();
  }

  Status run(const FlagSet& flags) override {
    NEUROSHARD_ASSIGN_OR_RETURN(options_.kind, parse_policy_kind(kind_));
    options_.reward = usual_reward(options_.kind);
    if (flags.given("reward")) {
      NEUROSHARD_ASSIGN_OR_RETURN(options_.reward, parse_policy_reward(reward_));
    }
    NEUROSHARD_ASSIGN_OR_RETURN(LoadedWorkload loaded, load_workload(tables_, batch_size_));
    note_if_any(loaded.batch_note);
    set_usual_tasks(loaded.workload);
    PolicyTasks& tasks = options_.tasks;
    NEUROSHARD_RETURN_IF_ERROR(set_task_tables(task_tables_, &tasks.min_tables, &tasks.max_tables));
    NEUROSHARD_RETURN_IF_ERROR(joint_.check(flags));
    return joint_.output() ? run_joint(loaded) : run_alone(loaded);
  }

 private:
  Status run_alone(const LoadedWorkload& loaded) {
    NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, load_cost_models(cost_model_));
    const PolicyOrigin origin = policy_origin(models, loaded);
    const PolicySettings settings = policy_settings(options_, origin, loaded.workload.batch_size);
    NEUROSHARD_ASSIGN_OR_RETURN(const std::optional<PolicyTrainingState> from,
                                read_checkpoint(settings));
    NEUROSHARD_ASSIGN_OR_RETURN(PolicyTraining training, with_progress([&] {
                                  return train_policy(loaded.workload, models.models, options_,
                                                      control_, from ? &*from : nullptr);
                                }));
    training.model.origin = origin;
    if (checkpoint_) {
      NEUROSHARD_RETURN_IF_ERROR(io::write_file_atomically(
          *checkpoint_, format_policy_checkpoint(settings, training.state)));
    }
    return show(models, training);
  }

  /// The cost networks are there first: a policy without them could place nothing.
  Status run_joint(const LoadedWorkload& loaded) {
    NEUROSHARD_ASSIGN_OR_RETURN(
        const std::unique_ptr<GroundTruth> truth,
        joint_.ground_truth(options_.tasks.memory_bytes, control_.threads, options_.seed));
    NEUROSHARD_ASSIGN_OR_RETURN(JointTraining joint, with_progress([&] {
                                  return train_joint_policy(*truth, loaded.workload, joint_.plans(),
                                                            options_, control_);
                                }));
    const std::string bytes = format_cost_models(joint.costs);
    NEUROSHARD_RETURN_IF_ERROR(deliver(*joint_.output(), bytes));
    const NamedCostModels models{io::file_name(*joint_.output()), io::sha256_hex(bytes),
                                 std::move(joint.costs), true};
    joint.policy.model.origin = policy_origin(models, loaded);
    return show(models, joint.policy);
  }

  static PolicyOrigin policy_origin(const NamedCostModels& models, const LoadedWorkload& loaded) {
    const ModelOrigin costs = origin_of(models.models);
    return {models.name, models.sha256, loaded.sha256, costs.hardware, costs.provenance};
  }

  /// The policy, the report, and what people see.
  Status show(const NamedCostModels& models, const PolicyTraining& training) const {
    if (training.report.stopped_early) print_note("stopped early: this is the best policy so far");
    NEUROSHARD_RETURN_IF_ERROR(deliver(output_, format_policy(training.model)));
    if (report_) {
      NEUROSHARD_RETURN_IF_ERROR(
          deliver(*report_, format_policy_training(options_, training.model, training.report)));
    }
    if (output_ == "-" || report_ == "-" || joint_.output() == "-") return {};
    return print("cost model " + describe(models) + "\n" + text_of(training.report) +
                 "policy written to " + output_ + "\n");
  }

  /// Of as many tables as the pool has to spare.
  void set_usual_tasks(const Workload& pool) {
    PolicyTasks& tasks = options_.tasks;
    std::sort(tasks.devices.begin(), tasks.devices.end());
    const auto half = static_cast<std::int32_t>(pool.tables.size() / 2);
    tasks.min_tables = std::clamp(half, 1, 10);
    tasks.max_tables = std::clamp(half, tasks.min_tables, 60);
  }

  /// Nothing where there is no such file yet.
  Result<std::optional<PolicyTrainingState>> read_checkpoint(const PolicySettings& settings) const {
    std::optional<PolicyTrainingState> state;
    std::error_code unknown;
    if (!checkpoint_ || !std::filesystem::exists(*checkpoint_, unknown)) return state;
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_safetensors_file(*checkpoint_));
    NEUROSHARD_ASSIGN_OR_RETURN(state, parse_policy_checkpoint(bytes, *checkpoint_, settings));
    print_note("goes on from " + io::printable(*checkpoint_) + ", after " +
               with_commas(state->steps) + " of " +
               with_commas(options_.imitations + options_.updates) + " steps");
    return state;
  }

  template <typename Train>
  auto with_progress(const Train& train) -> decltype(train()) {
    ProgressBar progress;
    control_.progress = &progress;
    control_.cancel = &cancel_token();
    auto trained = train();
    if (trained.status().code() == StatusCode::kCancelled) {
      return cancelled("interrupted, no policy written");
    }
    return trained;
  }

  static std::string share_text(double share) { return fixed_decimals(100 * share, 2) + " %"; }

  /// What was measured, and how well the networks of the rounds before knew it; "" without.
  static std::string rounds_text(const PolicyReport& report) {
    if (report.rounds.empty()) return "";
    TextTable table({{"plans measured"}, {"mean ms"}, {"predicted within"}});
    for (const PolicyRound& round : report.rounds) {
      table.add({with_commas(round.plans), fixed_decimals(round.measured_ms, 3),
                 std::isnan(round.error) ? "-" : share_text(round.error)});
    }
    return table.render(Console::of(STDOUT_FILENO)) +
           "the first at random, then drawn by the policy; predicted by the networks before\n";
  }

  /// Some looks at the held-out tasks, evenly spread, the best and the last among them.
  [[nodiscard]] std::string text_of(const PolicyReport& report) const {
    TextTable table({{"update"}, {"plans drawn"}, {"entropy"}, {"held-out"}});
    const std::size_t looks = report.curve.size();
    const std::size_t each = std::max<std::size_t>(1, looks / kLooksShown);
    for (std::size_t k = 0; k < looks; ++k) {
      const PolicyPoint& point = report.curve[k];
      const bool best = point.update == report.best_update;
      if (k % each != 0 && k + 1 != looks && !best) continue;
      table.add({with_commas(point.update), share_text(point.drawn_share),
                 fixed_decimals(point.entropy, 3), share_text(point.validation_share)},
                best ? Style::kBold : Style::kPlain);
    }
    return rounds_text(report) + "trained on " + counted(report.training_tables, "table") + ", " +
           counted(report.held_out_tables, "table") + " held out\n" +
           table.render(Console::of(STDOUT_FILENO)) +
           (options_.reward == PolicyReward::kBalance ? "largest compute over the mean, both "
                                                      : "costs ") +
           "over those of the best of some greedy rules; held-out: the policy's first "
           "choices in " +
           counted(report.validation_tasks, "task") + "; update " +
           with_commas(report.best_update) +
           " is kept: " + share_text(report.best_validation_share) + "\n";
  }

  std::string tables_;
  std::string cost_model_ = kDefaultCostModel;
  std::string kind_{to_string(PolicyKind::kDreamshard)};
  std::string reward_{to_string(PolicyReward::kCost)};
  std::string output_;
  std::vector<std::int32_t> task_tables_;
  std::optional<std::int64_t> batch_size_;
  std::optional<std::string> report_;
  std::optional<std::string> checkpoint_;
  JointFlags joint_;
  PolicyTrainOptions options_;
  PolicyTrainControl control_{.threads = 0};
};

}  // namespace

std::unique_ptr<Command> make_train_policy_command() {
  return std::make_unique<TrainPolicyCommand>();
}

}  // namespace neuroshard::apps
