#include "engine/policy/train_policy.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "engine/core/cluster.h"
#include "engine/core/rng.h"
#include "engine/core/thread_pool.h"
#include "engine/policy/network_policy.h"
#include "engine/policy/policy_context.h"
#include "engine/policy/policy_learner.h"
#include "engine/policy/policy_scaling.h"
#include "engine/policy/policy_split.h"
#include "engine/policy/policy_tasks.h"
#include "engine/policy/policy_validation.h"
#include "search/stop_check.h"

namespace neuroshard {
namespace {

constexpr std::int32_t kValidationTasks = 96;
constexpr std::int32_t kUpdatesALook = 10;

/// The optimizer's state, on the CPU.
struct AdamState {
  explicit AdamState(std::size_t parameters) : m(parameters), v(parameters) {}
  std::int64_t step = 0;
  std::vector<float> m;
  std::vector<float> v;
};

/// Uniform in +-1/sqrt(units), as torch.nn.LSTM; but for the bias of the forget gate, 1: what is
/// remembered is kept at first (Jozefowicz et al. 2015).
std::vector<float> first_weights(const nn::LstmSpec& spec, Rng& rng) {
  std::vector<float> values(nn::parameter_count(spec));
  const double bound = 1 / std::sqrt(static_cast<double>(spec.units));
  for (float& value : values) value = static_cast<float>(bound * (2 * rng.uniform() - 1));
  const auto units = static_cast<std::ptrdiff_t>(spec.units);
  const auto bias = values.begin() + 4 * units * spec.inputs;
  std::fill(bias + units, bias + 2 * units, 1.0f);
  return values;
}

class PolicyTrainer {
 public:
  PolicyTrainer(PolicyTaskSource source, const PolicyTrainOptions& options,
                const PolicyTrainControl& control, const nn::Backend& backend)
      : source_(std::move(source)),
        options_(options),
        control_(control),
        backend_(backend),
        stop_(
            search::SearchOptions{.time_limit_s = control.time_limit_s, .cancel = control.cancel}),
        pool_(control.threads),
        seeds_(options.seed),
        task_rng_(numbers(PolicyStream::kTasks)) {}

  Result<PolicyTraining> train();

 private:
  void begin();
  Status draw_held_out_tasks();
  Status step(const LearningRule& rule, double rate);
  Status look(std::int32_t update);
  Status imitate();
  Status reinforce();
  [[nodiscard]] Rng numbers(PolicyStream stream) const {
    return seeds_.fork(static_cast<std::uint64_t>(stream));
  }
  [[nodiscard]] std::vector<float> parameters() const;
  void set_parameters(std::span<const float> values);
  void tell(std::int32_t done) const;

  PolicyTaskSource source_;
  const PolicyTrainOptions options_;
  const PolicyTrainControl control_;
  const nn::Backend& backend_;
  const search::StopCheck stop_;
  ThreadPool pool_;
  const Rng seeds_;
  Rng task_rng_;
  PolicySplit split_;
  std::vector<PolicyTask> held_out_tasks_;
  PolicyModel model_;
  PolicyModel best_;
  std::vector<PolicyLearner> learners_;  // one a thread
  std::optional<AdamState> adam_;
  std::uint64_t steps_ = 0;
  double share_ = 0;  // sums since the last look
  double entropy_ = 0;
  std::int64_t learned_ = 0;
  PolicyReport report_;
};

void PolicyTrainer::begin() {
  split_ = split_tables(source_.pool().tables.size(), options_.tasks, options_.seed);
  report_.held_out_tables = static_cast<std::int64_t>(split_.held_out.size());
  report_.training_tables = static_cast<std::int64_t>(split_.training.size());
  model_.kind = options_.kind;
  model_.tasks = options_.tasks;
  model_.features = FeatureSet::parse(policy_features()).value();
  model_.scaling = policy_scaling(model_.features, source_.pool(), split_.training);
  model_.history = {options_.reward, options_.seed, report_.training_tables,
                    report_.held_out_tables, false};
  const int widths[] = {model_.features.size(), 64, 32, 2 * options_.hidden};
  model_.table = nn::Mlp(nn::dense_stack(widths, nn::Activation::kNone));
  const int head[] = {kPolicyContext, options_.hidden, 1};
  model_.head = nn::Mlp(nn::dense_stack(head, nn::Activation::kNone));
  Rng rng = numbers(PolicyStream::kWeights);
  nn::initialize(model_.table, rng);
  nn::initialize(model_.head, rng);
  if (model_.recurrent()) model_.lstm = first_weights(model_.lstm_spec(), rng);
  for (int thread = 0; thread < pool_.size(); ++thread) {
    learners_.emplace_back(
        backend_,
        std::vector<nn::DenseSpec>(model_.table.layers().begin(), model_.table.layers().end()),
        model_.recurrent(), options_.reward);
  }
  adam_.emplace(learners_.front().parameters());
}

Status PolicyTrainer::draw_held_out_tasks() {
  Rng rng = numbers(PolicyStream::kHeldOutTasks);
  for (std::int32_t k = 0; k < kValidationTasks; ++k) {
    NEUROSHARD_ASSIGN_OR_RETURN(PolicyTask task,
                                source_.draw(split_.held_out, rng, control_.cancel));
    held_out_tasks_.push_back(std::move(task));
  }
  report_.validation_tasks = kValidationTasks;
  return {};
}

std::vector<float> PolicyTrainer::parameters() const {
  std::vector<float> all(model_.table.parameters().begin(), model_.table.parameters().end());
  all.insert(all.end(), model_.head.parameters().begin(), model_.head.parameters().end());
  all.insert(all.end(), model_.lstm.begin(), model_.lstm.end());
  return all;
}

void PolicyTrainer::set_parameters(std::span<const float> values) {
  const std::size_t table = model_.table.parameters().size();
  std::copy_n(values.begin(), table, model_.table.parameters().begin());
  const std::span<float> head = model_.head.parameters();
  std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(table), head.size(), head.begin());
  const std::span<const float> lstm = values.subspan(table + head.size());
  std::copy(lstm.begin(), lstm.end(), model_.lstm.begin());
}

/// Tasks are drawn by one thread and learned from by all. Their gradients are added in order.
Status PolicyTrainer::step(const LearningRule& rule, double rate) {
  std::vector<float> values = parameters();
  const auto batch = static_cast<std::size_t>(options_.batch);
  std::vector<PolicyTask> tasks;
  for (std::size_t k = 0; k < batch; ++k) {
    NEUROSHARD_ASSIGN_OR_RETURN(PolicyTask task,
                                source_.draw(split_.training, task_rng_, control_.cancel));
    tasks.push_back(std::move(task));
  }
  std::vector<std::vector<float>> gradients(batch, std::vector<float>(values.size()));
  std::vector<LearnedTask> learned(batch);
  std::vector<Status> failures(batch);
  const Rng step_seeds = numbers(PolicyStream::kEpisodes).fork(steps_++);
  pool_.parallel_for(options_.batch, [&](std::int64_t index, int worker) {
    const auto k = static_cast<std::size_t>(index);
    const PolicyTask& task = tasks[k];
    std::vector<ShardShape> shapes;
    for (const search::PolicyPiece& piece : task.pieces) shapes.push_back(shape_of(piece.shard));
    AlignedVector<float> features(shapes.size() * static_cast<std::size_t>(model_.features.size()));
    write_policy_features(model_, source_.pool(), shapes, features);
    Rng rng = step_seeds.fork(k);
    Result<LearnedTask> one = learners_[static_cast<std::size_t>(worker)].learn(
        task, source_.world(task.world), features, values, rule, rng, gradients[k]);
    failures[k] = one.status();
    if (one.ok()) learned[k] = *one;
  });
  for (const Status& failure : failures) NEUROSHARD_RETURN_IF_ERROR(failure);
  for (std::size_t k = 0; k < batch; ++k) {
    share_ += learned[k].share;
    entropy_ += learned[k].entropy;
    ++learned_;
    if (k == 0) continue;
    for (std::size_t p = 0; p < values.size(); ++p) gradients[0][p] += gradients[k][p];
  }
  backend_.run(nn::Adam{.count = static_cast<std::int64_t>(values.size()),
                        .step = ++adam_->step,
                        .rate = static_cast<float>(rate),
                        .gradient = gradients[0].data(),
                        .parameter = values.data(),
                        .m = adam_->m.data(),
                        .v = adam_->v.data()});
  set_parameters(values);
  return {};
}

Status PolicyTrainer::look(std::int32_t update) {
  const auto count = static_cast<double>(std::max<std::int64_t>(1, learned_));
  const PolicyPoint point{update, share_ / count, entropy_ / count,
                          validation_share(model_, source_, held_out_tasks_, pool_)};
  share_ = entropy_ = 0;
  learned_ = 0;
  if (!std::isfinite(point.validation_share)) {
    return internal_error("the training of the policy diverged after " + std::to_string(update) +
                          " updates");
  }
  if (report_.curve.empty() || point.validation_share < report_.best_validation_share) {
    report_.best_validation_share = point.validation_share;
    report_.best_update = update;
    best_ = model_;
  }
  report_.curve.push_back(point);
  return {};
}

void PolicyTrainer::tell(std::int32_t done) const {
  if (control_.progress == nullptr) return;
  control_.progress->update("training policy", done, options_.imitations + options_.updates,
                            "updates");
}

/// Where the time limit ends it, there is a policy, if not a good one; who cancels wants none.
Status PolicyTrainer::imitate() {
  for (std::int32_t k = 0; k < options_.imitations; ++k) {
    if (stop_.cancelled()) return cancelled("interrupted");
    if (stop_.stop()) {
      report_.stopped_early = true;
      break;
    }
    tell(k);
    NEUROSHARD_RETURN_IF_ERROR(step({.imitate = true}, options_.learning_rate));
  }
  return look(0);
}

Status PolicyTrainer::reinforce() {
  adam_.emplace(learners_.front().parameters());
  const LearningRule rule{options_.episodes, static_cast<float>(options_.entropy), false};
  for (std::int32_t update = 0; update < options_.updates; ++update) {
    tell(options_.imitations + update);
    const double left = 1 - static_cast<double>(update) / options_.updates;
    const Status learned =
        stop_.stop() ? cancelled("interrupted") : step(rule, options_.learning_rate * left);
    if (learned.code() == StatusCode::kCancelled) {
      report_.stopped_early = true;
      return {};
    }
    NEUROSHARD_RETURN_IF_ERROR(learned);
    if ((update + 1) % kUpdatesALook == 0 || update + 1 == options_.updates) {
      NEUROSHARD_RETURN_IF_ERROR(look(update + 1));
    }
  }
  return {};
}

Result<PolicyTraining> PolicyTrainer::train() {
  begin();
  NEUROSHARD_RETURN_IF_ERROR(draw_held_out_tasks());
  NEUROSHARD_RETURN_IF_ERROR(imitate());
  if (!report_.stopped_early) NEUROSHARD_RETURN_IF_ERROR(reinforce());
  best_.history.stopped_early = report_.stopped_early;
  return PolicyTraining{std::move(best_), std::move(report_)};
}

}  // namespace

Result<PolicyTraining> train_policy(const Workload& pool, const CostModels& models,
                                    const PolicyTrainOptions& options,
                                    const PolicyTrainControl& control) {
  NEUROSHARD_RETURN_IF_ERROR(validate(options));
  NEUROSHARD_RETURN_IF_ERROR(check_policy_pool(pool, options.tasks));
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Backend* backend, nn::select_backend());
  NEUROSHARD_ASSIGN_OR_RETURN(PolicyTaskSource source,
                              PolicyTaskSource::create(pool, models, options.tasks,
                                                       {options.reward, most_choices(options)}));
  return PolicyTrainer(std::move(source), options, control, *backend).train();
}

}  // namespace neuroshard
