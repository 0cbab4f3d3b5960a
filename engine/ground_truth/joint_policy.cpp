#include "engine/ground_truth/joint_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/ground_truth/measured_plans.h"
#include "engine/ground_truth/random_placement.h"
#include "engine/policy/policy_trainer.h"

namespace neuroshard {
namespace {

/// DreamShard's own number.
constexpr std::int32_t kRounds = 10;

using DeviceColumns = std::vector<std::vector<MeasuredColumns>>;

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
  JointTrainer(GroundTruth& truth, const Workload& pool, std::int32_t plans,
               const PolicyTrainOptions& options, const PolicyTrainControl& control,
               PolicyTrainer& policy)
      : truth_(truth),
        pool_(pool),
        plans_(plans),
        options_(options),
        control_(control),
        policy_(policy),
        measured_(pool),
        seeds_(Rng(options.seed).fork(static_cast<std::uint64_t>(PolicyStream::kMeasuredPlans))) {}

  Result<JointTraining> train();

 private:
  Status measure_round(std::int32_t round);
  Result<DeviceColumns> random_plan(std::int64_t number);
  Result<DeviceColumns> policy_plan(std::int64_t number, double& predicted);

  GroundTruth& truth_;
  const Workload& pool_;
  const std::int32_t plans_;
  const PolicyTrainOptions& options_;
  const PolicyTrainControl& control_;
  PolicyTrainer& policy_;
  MeasuredPlans measured_;
  const Rng seeds_;
  CostModels costs_;
  std::vector<PolicyRound> rounds_;
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

Status JointTrainer::measure_round(std::int32_t round) {
  const std::int64_t until = std::int64_t{plans_} * (round + 1) / kRounds;
  const std::int64_t before = measured_.plans();
  PolicyRound told{until, 0, 0};
  for (std::int64_t number = before; number < until; ++number) {
    if (control_.cancel != nullptr && control_.cancel->cancelled()) return cancelled("interrupted");
    if (control_.progress != nullptr) {
      control_.progress->update("measuring plans", number, plans_, "plans");
    }
    double predicted = std::numeric_limits<double>::quiet_NaN();
    NEUROSHARD_ASSIGN_OR_RETURN(const DeviceColumns plan,
                                round == 0 ? random_plan(number) : policy_plan(number, predicted));
    NEUROSHARD_ASSIGN_OR_RETURN(const double cost, measured_.measure(truth_, plan));
    told.measured_ms += cost / static_cast<double>(until - before);
    told.error += std::fabs(predicted / cost - 1) / static_cast<double>(until - before);
  }
  rounds_.push_back(told);
  return {};
}

Result<JointTraining> JointTrainer::train() {
  for (std::int32_t round = 0; round < kRounds && !policy_.stopped(); ++round) {
    const Status measured = measure_round(round);
    const bool goes_on = round > 0 && measured.code() == StatusCode::kCancelled;
    if (!goes_on) NEUROSHARD_RETURN_IF_ERROR(measured);
    if (measured.ok()) {
      NEUROSHARD_ASSIGN_OR_RETURN(costs_, measured_.fit(truth_, options_.seed, control_.threads));
      NEUROSHARD_RETURN_IF_ERROR(policy_.set_costs(costs_));
    }
    // Where the caller has ended it, this only notes that.
    const std::int64_t updates = std::int64_t{options_.updates} * (round + 1) / kRounds;
    NEUROSHARD_RETURN_IF_ERROR(policy_.advance(static_cast<std::int32_t>(updates)));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(PolicyTraining training, policy_.finish());
  training.report.rounds = std::move(rounds_);
  return JointTraining{std::move(training), std::move(costs_)};
}

}  // namespace

Result<JointTraining> train_joint_policy(GroundTruth& truth, const Workload& pool,
                                         std::int32_t plans, const PolicyTrainOptions& options,
                                         const PolicyTrainControl& control) {
  if (plans < kLeastJointPlans) {
    return invalid_input("plans: found " + std::to_string(plans) + ", expected at least " +
                         std::to_string(kLeastJointPlans));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const std::unique_ptr<PolicyTrainer> policy,
                              PolicyTrainer::create(pool, options, control));
  if (options.tasks.devices.front() < 2) {
    return invalid_input("devices: found 1, expected at least 2: one exchanges nothing");
  }
  return JointTrainer(truth, pool, plans, options, control, *policy).train();
}

}  // namespace neuroshard
