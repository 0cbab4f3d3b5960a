#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/policy_training_text.h"
#include "apps/console/output.h"
#include "apps/console/progress_bar.h"
#include "apps/console/words.h"
#include "apps/flags/checkpoint_flag.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/joint_flags.h"
#include "apps/flags/policy_flags.h"
#include "apps/interrupt.h"
#include "apps/make_commands.h"
#include "engine/core/cluster.h"
#include "engine/cost_model/cost_model_file.h"
#include "engine/ground_truth/joint_checkpoint.h"
#include "engine/ground_truth/joint_policy.h"
#include "engine/ground_truth/joint_state.h"
#include "engine/policy/policy_checkpoint.h"
#include "engine/policy/policy_checkpoint_parts.h"
#include "engine/policy/policy_file.h"
#include "engine/policy/train_policy.h"
#include "io/file.h"
#include "io/sha256.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

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
    checkpoint_.declare(flags);
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
    PolicyTrainingState state;
    NEUROSHARD_ASSIGN_OR_RETURN(const std::optional<std::string> before, checkpoint_.read());
    if (before) {
      NEUROSHARD_ASSIGN_OR_RETURN(state,
                                  parse_policy_checkpoint(*before, *checkpoint_.path(), settings));
      checkpoint_.note_resumed(steps_text(state));
    }
    Result<PolicyTraining> training = with_progress(
        [&] { return train_policy(loaded.workload, models.models, options_, control_, &state); });
    const bool begun = !state.parameters.empty();
    // A checkpoint that cannot be written is no reason to lose what was trained.
    const Status kept =
        checkpoint_.keep(training.status(), begun ? format_policy_checkpoint(settings, state) : "");
    if (!training.ok()) return kept;
    training->model.origin = origin;
    NEUROSHARD_RETURN_IF_ERROR(show(models, *training));
    return kept;
  }

  /// The cost networks are there first: a policy without them could place nothing.
  Status run_joint(const LoadedWorkload& loaded) {
    NEUROSHARD_ASSIGN_OR_RETURN(
        const std::unique_ptr<GroundTruth> truth,
        joint_.ground_truth(options_.tasks.memory_bytes, control_.threads, options_.seed));
    PolicySettings settings =
        training_settings(options_, loaded.sha256, loaded.workload.batch_size);
    settings.merge(joint_.settings(*truth));
    JointTrainingState state;
    NEUROSHARD_ASSIGN_OR_RETURN(const std::optional<std::string> before, checkpoint_.read());
    if (before) {
      const JointRounds rounds(joint_.plans(), options_);
      NEUROSHARD_ASSIGN_OR_RETURN(state, parse_joint_checkpoint(*before, *checkpoint_.path(),
                                                                settings, rounds, loaded.workload));
      checkpoint_.note_resumed(with_commas(std::ssize(state.plans)) + " of " +
                               with_commas(joint_.plans()) + " plans and " +
                               steps_text(state.policy));
    }
    Result<JointTraining> joint = with_progress([&] {
      return train_joint_policy(*truth, loaded.workload, joint_.plans(), options_, control_,
                                &state);
    });
    const bool begun = !state.policy.parameters.empty();
    const Status kept =
        checkpoint_.keep(joint.status(), begun ? format_joint_checkpoint(settings, state) : "");
    if (!joint.ok()) return kept;
    const std::string bytes = format_cost_models(joint->costs);
    NEUROSHARD_RETURN_IF_ERROR(deliver(*joint_.output(), bytes));
    const NamedCostModels models{io::file_name(*joint_.output()), io::sha256_hex(bytes),
                                 std::move(joint->costs), true};
    joint->policy.model.origin = policy_origin(models, loaded);
    NEUROSHARD_RETURN_IF_ERROR(show(models, joint->policy));
    return kept;
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
    return print("cost model " + describe(models) + "\n" +
                 policy_training_text(training.report, options_.reward) + "policy written to " +
                 output_ + "\n");
  }

  /// Of as many tables as the pool has to spare.
  void set_usual_tasks(const Workload& pool) {
    PolicyTasks& tasks = options_.tasks;
    std::sort(tasks.devices.begin(), tasks.devices.end());
    const auto half = static_cast<std::int32_t>(pool.tables.size() / 2);
    tasks.min_tables = std::clamp(half, 1, 10);
    tasks.max_tables = std::clamp(half, tasks.min_tables, 60);
  }

  std::string steps_text(const PolicyTrainingState& state) const {
    return with_commas(state.steps) + " of " +
           with_commas(std::int64_t{options_.imitations} + options_.updates) + " steps";
  }

  template <typename Train>
  auto with_progress(const Train& train) -> decltype(train()) {
    ProgressBar progress;
    control_.progress = &progress;
    control_.cancel = &cancel_token();
    return train();
  }

  std::string tables_;
  std::string cost_model_ = kDefaultCostModel;
  std::string kind_{to_string(PolicyKind::kDreamshard)};
  std::string reward_{to_string(PolicyReward::kCost)};
  std::string output_;
  std::vector<std::int32_t> task_tables_;
  std::optional<std::int64_t> batch_size_;
  std::optional<std::string> report_;
  CheckpointFlag checkpoint_;
  JointFlags joint_;
  PolicyTrainOptions options_;
  PolicyTrainControl control_{.threads = 0};
};

}  // namespace

std::unique_ptr<Command> make_train_policy_command() {
  return std::make_unique<TrainPolicyCommand>();
}

}  // namespace neuroshard::apps
