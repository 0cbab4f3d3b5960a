#include "engine/policy/policy_trainer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/policy/network_policy.h"
#include "engine/policy/policy_reward.h"
#include "engine/policy/policy_validation.h"
#include "engine/policy/policy_weights.h"
#include "search/policy/rollout.h"

namespace neuroshard {
namespace {

constexpr std::int32_t kValidationTasks = 96;
constexpr std::int32_t kUpdatesALook = 10;

}  // namespace

PolicyTrainer::PolicyTrainer(const Workload& pool, const PolicyTrainOptions& options,
                             const PolicyTrainControl& control, const nn::Backend& backend)
    : pool_(pool),
      options_(options),
      control_(control),
      backend_(backend),
      stop_(search::SearchOptions{.time_limit_s = control.time_limit_s, .cancel = control.cancel}),
      threads_(control.threads),
      seeds_(options.seed),
      split_(split_tables(pool.tables.size(), options.tasks, options.seed)),
      shape_(first_policy(options, pool, split_, numbers(PolicyStream::kWeights))) {
  for (int thread = 0; thread < threads_.size(); ++thread) {
    learners_.emplace_back(
        backend,
        std::vector<nn::DenseSpec>(shape_.table.layers().begin(), shape_.table.layers().end()),
        shape_.recurrent(), options.reward);
  }
  state_.parameters = policy_parameters(shape_);
  state_.adam_mean.resize(state_.parameters.size());
  state_.adam_square.resize(state_.parameters.size());
}

Result<std::unique_ptr<PolicyTrainer>> PolicyTrainer::create(const Workload& pool,
                                                             const PolicyTrainOptions& options,
                                                             const PolicyTrainControl& control) {
  NEUROSHARD_RETURN_IF_ERROR(validate(options));
  NEUROSHARD_RETURN_IF_ERROR(check_policy_pool(pool, options.tasks));
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Backend* backend, nn::select_backend());
  return std::unique_ptr<PolicyTrainer>(new PolicyTrainer(pool, options, control, *backend));
}

Status PolicyTrainer::set_costs(const CostModels& models) {
  NEUROSHARD_ASSIGN_OR_RETURN(PolicyTaskSource source,
                              PolicyTaskSource::create(pool_, models, options_.tasks,
                                                       {options_.reward, most_choices(options_)}));
  std::vector<PolicyTask> tasks;
  Rng rng = numbers(PolicyStream::kHeldOutTasks);
  for (std::int32_t k = 0; k < kValidationTasks; ++k) {
    NEUROSHARD_ASSIGN_OR_RETURN(PolicyTask task,
                                source.draw(split_.held_out, rng, control_.cancel));
    tasks.push_back(std::move(task));
  }
  source_ = std::move(source);
  held_out_tasks_ = std::move(tasks);
  return {};
}

void PolicyTrainer::forget_best() {
  state_.best.clear();
  state_.curve.clear();
}

Status PolicyTrainer::set_state(PolicyTrainingState state) {
  const std::size_t expected = state_.parameters.size();
  for (const std::vector<float>* one : {&state.parameters, &state.adam_mean, &state.adam_square}) {
    if (one->size() == expected) continue;
    return invalid_input("parameters: found " + std::to_string(one->size()) + ", expected " +
                         std::to_string(expected));
  }
  const bool looked = !state.curve.empty();
  if (state.best.size() != (looked ? expected : 0)) {
    return invalid_input("best parameters: found " + std::to_string(state.best.size()) +
                         ", expected " + std::to_string(looked ? expected : 0));
  }
  state_ = std::move(state);
  return {};
}

PolicyModel PolicyTrainer::model_of(std::span<const float> parameters) const {
  PolicyModel model = shape_;
  set_policy_parameters(parameters, model);
  return model;
}

/// With random numbers of the step alone, so that a training can be gone on with anywhere.
Result<std::vector<PolicyTask>> PolicyTrainer::draw_batch() {
  Rng rng = numbers(PolicyStream::kTasks).fork(static_cast<std::uint64_t>(state_.steps));
  std::vector<PolicyTask> tasks;
  for (std::int32_t k = 0; k < options_.batch; ++k) {
    NEUROSHARD_ASSIGN_OR_RETURN(PolicyTask task,
                                source_->draw(split_.training, rng, control_.cancel));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

/// Tasks are drawn by one thread and learned from by all. Their gradients are added in order, to
/// those of the first.
Status PolicyTrainer::learn(const std::vector<PolicyTask>& tasks, const LearningRule& rule) {
  const PolicyModel model = model_of(state_.parameters);
  gradients_.assign(tasks.size(), std::vector<float>(state_.parameters.size()));
  std::vector<LearnedTask> learned(tasks.size());
  std::vector<Status> failures(tasks.size());
  const Rng seeds = numbers(PolicyStream::kEpisodes).fork(static_cast<std::uint64_t>(state_.steps));
  threads_.parallel_for(std::ssize(tasks), [&](std::int64_t index, int worker) {
    const auto k = static_cast<std::size_t>(index);
    const PolicyTask& task = tasks[k];
    std::vector<ShardShape> shapes;
    for (const search::PolicyPiece& piece : task.pieces) shapes.push_back(shape_of(piece.shard));
    AlignedVector<float> features(shapes.size() * static_cast<std::size_t>(model.features.size()));
    write_policy_features(model, pool_, shapes, features);
    Rng rng = seeds.fork(k);
    Result<LearnedTask> one = learners_[static_cast<std::size_t>(worker)].learn(
        task, source_->world(task.world), features, state_.parameters, rule, rng, gradients_[k]);
    failures[k] = one.status();
    if (one.ok()) learned[k] = *one;
  });
  for (const Status& failure : failures) NEUROSHARD_RETURN_IF_ERROR(failure);
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    state_.share_sum += learned[k].share;
    state_.entropy_sum += learned[k].entropy;
    ++state_.learned;
    if (k == 0) continue;
    for (std::size_t p = 0; p < gradients_[0].size(); ++p) gradients_[0][p] += gradients_[k][p];
  }
  return {};
}

/// One of imitation, then of REINFORCE, whose optimizer begins anew.
Status PolicyTrainer::step() {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<PolicyTask> tasks, draw_batch());
  const bool imitate = update() < 0;
  if (update() == 0) {
    std::fill(state_.adam_mean.begin(), state_.adam_mean.end(), 0.0f);
    std::fill(state_.adam_square.begin(), state_.adam_square.end(), 0.0f);
  }
  NEUROSHARD_RETURN_IF_ERROR(learn(
      tasks, imitate
                 ? LearningRule{.imitate = true}
                 : LearningRule{options_.episodes, static_cast<float>(options_.entropy), false}));
  const double left = imitate ? 1 : 1 - static_cast<double>(update()) / options_.updates;
  backend_.run(nn::Adam{.count = std::ssize(state_.parameters),
                        .step = 1 + (imitate ? state_.steps : update()),
                        .rate = static_cast<float>(options_.learning_rate * left),
                        .gradient = gradients_[0].data(),
                        .parameter = state_.parameters.data(),
                        .m = state_.adam_mean.data(),
                        .v = state_.adam_square.data()});
  ++state_.steps;
  const std::vector<float>& now = state_.parameters;
  const bool finite =
      std::all_of(now.begin(), now.end(), [](float one) { return std::isfinite(one); });
  return finite ? Status() : diverged();
}

Status PolicyTrainer::diverged() const {
  return internal_error("the training of the policy diverged after " +
                        std::to_string(std::max<std::int64_t>(0, update())) + " updates");
}

Status PolicyTrainer::look(PolicyTrainingState& state) {
  const auto count = static_cast<double>(std::max<std::int64_t>(1, state.learned));
  const auto at = static_cast<std::int32_t>(std::max<std::int64_t>(0, update()));
  const double share =
      validation_share(model_of(state.parameters), *source_, held_out_tasks_, threads_);
  if (!std::isfinite(share)) return diverged();
  if (state.curve.empty() || share < best_look(state.curve).validation_share) {
    state.best = state.parameters;
  }
  state.curve.push_back({at, state.share_sum / count, state.entropy_sum / count, share});
  state.share_sum = state.entropy_sum = 0;
  state.learned = 0;
  return {};
}

void PolicyTrainer::tell() const {
  if (control_.progress == nullptr) return;
  control_.progress->update("training policy", state_.steps,
                            std::int64_t{options_.imitations} + options_.updates, "updates");
}

Status PolicyTrainer::advance(std::int32_t updates) {
  for (;;) {
    if (update() == 0 && state_.curve.empty()) NEUROSHARD_RETURN_IF_ERROR(look(state_));
    if (update() >= updates) return {};
    tell();
    if (stop_now()) return {};
    const Status done = step();
    if (done.code() == StatusCode::kCancelled && stop_now()) return {};
    NEUROSHARD_RETURN_IF_ERROR(done);
    const bool due = update() == updates || update() % kUpdatesALook == 0;
    if (update() > 0 && due) NEUROSHARD_RETURN_IF_ERROR(look(state_));
  }
}

/// Where the time limit ends the imitation, there is a policy, if not a good one; who cancels wants
/// none. After it, nobody has looked since the costs were exchanged. This look is no part of where
/// the training stands.
Result<PolicyTraining> PolicyTrainer::finish() {
  PolicyTrainingState end = state_;
  if (end.curve.empty()) {
    if (stop_.cancelled() && update() < 0) return cancelled("interrupted");
    NEUROSHARD_RETURN_IF_ERROR(look(end));
  }
  PolicyTraining training;
  training.model = model_of(end.best);
  training.model.history.stopped_early = stopped_;
  PolicyReport& report = training.report;
  report.training_tables = training.model.history.training_tables;
  report.held_out_tables = training.model.history.held_out_tables;
  report.validation_tasks = kValidationTasks;
  report.curve = std::move(end.curve);
  report.best_update = best_look(report.curve).update;
  report.best_validation_share = best_look(report.curve).validation_share;
  report.stopped_early = stopped_;
  return training;
}

Result<PolicyTrainer::DrawnPlan> PolicyTrainer::draw_plan(Rng& rng) {
  NEUROSHARD_ASSIGN_OR_RETURN(const PolicyTask task,
                              source_->draw(split_.training, rng, control_.cancel));
  const PolicyWorld& world = source_->world(task.world);
  const PolicyModel model = model_of(state_.parameters);
  const std::unique_ptr<search::PolicyRun> run = NetworkPolicy(model).begin(pool_);
  search::learn_shapes(task.pieces, *run);
  search::Episode episode(*world.evaluator, *run);
  search::Rollout drawn = search::roll_out(episode, task.setting, task.pieces,
                                           search::costlier_piece, nullptr, &rng, stop_);
  if (drawn.stopped) return cancelled("interrupted");
  DrawnPlan plan{world.devices, drawn.complete ? std::move(drawn.pieces) : task.pieces};
  episode.reset(task.setting);
  for (const search::PolicyPiece& piece : plan.pieces) {
    episode.offer(piece);
    episode.place(piece, piece.shard.device);
  }
  search::Scratch scratch;
  plan.cost_ms = penalty_of(PolicyReward::kCost, *world.evaluator, episode.placed(), scratch);
  return plan;
}

}  // namespace neuroshard
