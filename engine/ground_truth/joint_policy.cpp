#include "engine/ground_truth/joint_policy.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/ground_truth/measured_plans.h"
#include "engine/ground_truth/random_placement.h"
#include "engine/policy/policy_trainer.h"

namespace neuroshard {
namespace {

/// The tables that a policy is trained on, whole and in the halves that it may make of them.
struct Candidates {
  std::vector<Table> tables;
  std::vector<MeasuredColumns> columns;
};

Candidates candidates_of(const Workload& pool, const PolicySplit& split) {
  Candidates all;
  for (const std::int32_t id : split.training) {
    const Table& table = pool.tables[static_cast<std::size_t>(id)];
    for (const std::int32_t parts : {1, 2, 4}) {
      if (table.dim % (4 * parts) != 0 && parts > 1) continue;
      all.columns.push_back({id, table.dim / parts});
      all.tables.push_back(table);
      all.tables.back().dim = table.dim / parts;
    }
  }
  return all;
}

class JointTrainer {
 public:
  JointTrainer(GroundTruth& truth, const Workload& pool, const JointRounds& rounds,
               const PolicyTrainOptions& options, const PolicyTrainControl& control,
               PolicyTrainer& policy)
      : truth_(truth),
        pool_(pool),
        rounds_(rounds),
        options_(options),
        control_(control),
        policy_(policy),
        seeds_(Rng(options.seed).fork(static_cast<std::uint64_t>(PolicyStream::kMeasuredPlans))) {}

  Result<JointTraining> train(const JointTrainingState& from);
  [[nodiscard]] JointTrainingState state() const;

 private:
  Status measure_round(std::int32_t round);
  Status learn_costs(std::int32_t round);
  Result<DeviceColumns> random_plan(std::int64_t number);
  Result<DeviceColumns> policy_plan(std::int64_t number, double& predicted);

  GroundTruth& truth_;
  const Workload& pool_;
  const JointRounds& rounds_;
  const PolicyTrainOptions& options_;
  const PolicyTrainControl& control_;
  PolicyTrainer& policy_;
  const Rng seeds_;
  std::vector<MeasuredPlan> plans_;
  std::int32_t learned_ = 0;  // rounds that the policy's costs are of
  CostModels costs_;
};

Result<DeviceColumns> JointTrainer::random_plan(std::int64_t number) {
  const std::vector<std::int32_t>& numbers = options_.tasks.devices;
  const std::int32_t devices = numbers[static_cast<std::size_t>(number) % numbers.size()];
  const Candidates all = candidates_of(pool_, policy_.split());
  NEUROSHARD_ASSIGN_OR_RETURN(
      const PlacementDraw draw,
      PlacementDraw::make(all.tables, devices, std::max(1, options_.tasks.max_tables / devices),
                          options_.tasks.memory_bytes));
  DeviceColumns plan;
  for (const std::vector<std::int32_t>& ids : draw.draw(options_.seed, number)) {
    plan.emplace_back();
    for (const std::int32_t id : ids) {
      plan.back().push_back(all.columns[static_cast<std::size_t>(id)]);
    }
  }
  return plan;
}

Result<DeviceColumns> JointTrainer::policy_plan(std::int64_t number, double& predicted) {
  Rng rng = seeds_.fork(static_cast<std::uint64_t>(number));
  NEUROSHARD_ASSIGN_OR_RETURN(const PolicyTrainer::DrawnPlan drawn, policy_.draw_plan(rng));
  predicted = drawn.cost_ms;
  DeviceColumns plan(static_cast<std::size_t>(drawn.devices));
  for (const search::PolicyPiece& piece : drawn.pieces) {
    plan[static_cast<std::size_t>(piece.shard.device)].push_back(
        {piece.shard.table, piece.shard.dim()});
  }
  return plan;
}

/// Those of its plans that are not there yet. Random numbers of each depend on its number alone.
/// The first round goes by the caller only: without it there is no policy.
Status JointTrainer::measure_round(std::int32_t round) {
  const std::int64_t until = rounds_.plans(round);
  for (std::int64_t number = std::ssize(plans_); number < until; ++number) {
    const bool caller = control_.cancel != nullptr && control_.cancel->cancelled();
    if (caller || (round > 0 && policy_.stop_now())) return cancelled("interrupted");
    if (control_.progress != nullptr) {
      control_.progress->update("measuring plans", number, rounds_.plans(JointRounds::kCount - 1),
                                "plans");
    }
    double predicted = 0;
    NEUROSHARD_ASSIGN_OR_RETURN(const DeviceColumns plan,
                                round == 0 ? random_plan(number) : policy_plan(number, predicted));
    NEUROSHARD_ASSIGN_OR_RETURN(MeasuredPlan measured, measure_columns(truth_, pool_, plan));
    measured.predicted_ms = predicted;
    plans_.push_back(std::move(measured));
  }
  return {};
}

/// From the plans of this round and those before, also where some of the next one are there.
Status JointTrainer::learn_costs(std::int32_t round) {
  const auto known =
      std::span<const MeasuredPlan>(plans_).first(static_cast<std::size_t>(rounds_.plans(round)));
  const TrainControl control{.threads = control_.threads, .cancel = control_.cancel};
  NEUROSHARD_ASSIGN_OR_RETURN(CostModels costs,
                              fit_costs(truth_, pool_, known, options_.seed, control));
  NEUROSHARD_RETURN_IF_ERROR(policy_.set_costs(costs));
  costs_ = std::move(costs);
  if (round == learned_) policy_.forget_best();
  learned_ = round + 1;
  return {};
}

/// Who goes on has networks of all rounds whose plans are there, by which nobody may have looked.
JointTrainingState JointTrainer::state() const {
  JointTrainingState now{policy_.state(), plans_};
  if (learned_ < rounds_.measured(std::ssize(plans_))) {
    now.policy.best.clear();
    now.policy.curve.clear();
  }
  return now;
}

/// A training that goes on does so in the last round whose plans it has, with what was the best by
/// the networks of that round.
Result<JointTraining> JointTrainer::train(const JointTrainingState& from) {
  plans_ = from.plans;
  if (!from.policy.parameters.empty()) NEUROSHARD_RETURN_IF_ERROR(policy_.set_state(from.policy));
  learned_ = rounds_.measured(std::ssize(plans_));
  const std::int32_t first = std::max(learned_ - 1, 0);
  for (std::int32_t round = first; round < JointRounds::kCount && !policy_.stopped(); ++round) {
    Status known = measure_round(round);
    if (known.ok()) known = learn_costs(round);
    // Then there are the networks of the round before.
    if (known.code() == StatusCode::kCancelled && round > first && policy_.stop_now()) break;
    NEUROSHARD_RETURN_IF_ERROR(known);
    NEUROSHARD_RETURN_IF_ERROR(policy_.advance(rounds_.updates(round)));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(PolicyTraining training, policy_.finish());
  training.report.rounds = rounds_.report(plans_);
  return JointTraining{std::move(training), std::move(costs_)};
}

}  // namespace

Result<JointTraining> train_joint_policy(GroundTruth& truth, const Workload& pool,
                                         std::int32_t plans, const PolicyTrainOptions& options,
                                         const PolicyTrainControl& control,
                                         JointTrainingState* state) {
  if (plans < kLeastJointPlans) {
    return invalid_input("plans: found " + std::to_string(plans) + ", expected at least " +
                         std::to_string(kLeastJointPlans));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<PolicyTrainer> policy,
                              PolicyTrainer::create(pool, options, control));
  if (options.tasks.devices.front() < 2) {
    return invalid_input("devices: found 1, expected at least 2: one exchanges nothing");
  }
  const JointRounds rounds(plans, options);
  const JointTrainingState from = state != nullptr ? *state : JointTrainingState{};
  NEUROSHARD_RETURN_IF_ERROR(rounds.check(from, pool));
  JointTrainer trainer(truth, pool, rounds, options, control, *policy);
  Result<JointTraining> training = trainer.train(from);
  if (state != nullptr) *state = trainer.state();
  return training;
}

}  // namespace neuroshard
