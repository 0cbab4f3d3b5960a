// Training of policies: the same whatever the threads, better than chance, and what ends it early.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "engine/core/shard_bytes.h"
#include "engine/ground_truth/policy_comparison.h"
#include "engine/planner/planner.h"
#include "engine/policy/network_policy.h"
#include "engine/policy/policy_file.h"
#include "engine/policy/policy_split.h"
#include "engine/policy/policy_tasks.h"
#include "tests/policy/small_policies.h"

namespace neuroshard::test {

BOOST_AUTO_TEST_SUITE(policy_training)

namespace {

PolicyTraining trained(const Workload& pool, const PolicyTrainOptions& options, int threads = 1) {
  PolicyTrainControl control;
  control.threads = threads;
  auto training = train_policy(pool, h100_costs(), options, control);
  BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
  return std::move(training).value();
}

/// Cancels once the training has said so often how far it is.
class CancelAfter final : public ProgressSink {
 public:
  CancelAfter(CancelToken& token, int calls) : token_(token), left_(calls) {}
  void update(std::string_view, std::int64_t, std::int64_t, std::string_view) override {
    if (--left_ == 0) token_.cancel();
  }

 private:
  CancelToken& token_;
  int left_;
};

Result<PolicyTraining> interrupted(const Workload& pool, int calls) {
  CancelToken token;
  CancelAfter sink(token, calls);
  PolicyTrainControl control;
  control.progress = &sink;
  control.cancel = &token;
  return train_policy(pool, h100_costs(), short_training(), control);
}

void expect_invalid(const Workload& pool, const PolicyTrainOptions& options,
                    const std::string& said) {
  const auto training = train_policy(pool, h100_costs(), options, {});
  BOOST_TEST((training.status().code() == StatusCode::kInvalidInput));
  BOOST_TEST(training.status().message().find(said) != std::string::npos,
             training.status().message());
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_policy_on_any_number_of_threads) {
  const Workload pool = generated_pool(50, 1);
  for (const PolicyKind kind : {PolicyKind::kDreamshard, PolicyKind::kAutoshard}) {
    const PolicyTrainOptions options = short_training(0, kind);
    const PolicyTraining alone = trained(pool, options);
    const PolicyTraining together = trained(pool, options, 3);
    BOOST_TEST(format_policy(alone.model) == format_policy(together.model));
    const std::string report = format_policy_training(options, alone.model, alone.report);
    BOOST_TEST(report == format_policy_training(options, together.model, together.report));
    BOOST_TEST(format_policy(trained(pool, short_training(1, kind)).model) !=
               format_policy(alone.model));
  }
}

BOOST_AUTO_TEST_CASE(a_time_limit_ends_a_training_with_the_best_so_far) {
  const Workload pool = generated_pool(50, 1);
  for (const std::int32_t imitations : {1, 1'000'000}) {  // after them, and among them
    PolicyTrainOptions options = short_training();
    options.imitations = imitations;
    options.updates = 1'000'000;
    PolicyTrainControl control;
    control.time_limit_s = 1;
    const auto training = train_policy(pool, h100_costs(), options, control);
    BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
    BOOST_TEST(training->report.stopped_early);
    BOOST_TEST(training->model.history.stopped_early);
    BOOST_TEST(training->report.curve.size() >= 1u);
    BOOST_TEST(validate(training->model).ok());
  }
}

BOOST_AUTO_TEST_CASE(a_policy_says_which_tables_it_was_not_trained_on) {
  const Workload pool = generated_pool(50, 1);
  const PolicyTraining training = trained(pool, short_training(3));
  const PolicyHistory& history = training.model.history;
  const PolicySplit split = split_tables(50, training.model.tasks, history.seed);
  BOOST_TEST(history.training_tables == static_cast<std::int64_t>(split.training.size()));
  BOOST_TEST(history.held_out_tables == static_cast<std::int64_t>(split.held_out.size()));
  std::vector<std::int32_t> all = split.training;
  all.insert(all.end(), split.held_out.begin(), split.held_out.end());
  std::sort(all.begin(), all.end());
  for (std::int32_t id = 0; id < 50; ++id) BOOST_TEST(all[static_cast<std::size_t>(id)] == id);
  BOOST_TEST(split_tables(50, training.model.tasks, 4).held_out != split.held_out);
}

BOOST_AUTO_TEST_CASE(a_policy_that_learns_balance_has_balanced_plans) {
  PolicyTrainOptions options = short_training(0, PolicyKind::kAutoshard);
  options.imitations = 150;
  const PolicyModel policy = trained(generated_pool(80, 5), options).model;
  PolicyTrial trial;
  trial.cluster = {.devices = 4, .memory_bytes = options.tasks.memory_bytes};
  trial.tasks = 12;
  trial.min_tables = trial.max_tables = 12;
  trial.samples = 0;
  trial.refine_seconds = 0.01;
  const auto found = compare_policy(generated_pool(60, 6), h100_costs(), policy, trial);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  double random = 0;
  double learned = 0;
  for (const TriedAlgorithm& tried : found->algorithms) {
    BOOST_TEST(tried.balance.mean_over_largest <= 1);
    BOOST_TEST(tried.balance.least_over_largest <= tried.balance.mean_over_largest);
    if (tried.algorithm == "random") random = tried.balance.mean_over_largest;
    if (tried.algorithm == "autoshard") learned = tried.balance.mean_over_largest;
  }
  BOOST_TEST(learned > random + 0.1);
}

BOOST_AUTO_TEST_CASE(the_policy_that_is_kept_is_the_best_on_held_out_tasks) {
  const PolicyReport report = trained(generated_pool(50, 2), short_training()).report;
  BOOST_TEST(report.training_tables + report.held_out_tables == 50);
  BOOST_TEST(report.held_out_tables >= 4);
  double best = std::numeric_limits<double>::infinity();
  for (const PolicyPoint& point : report.curve) best = std::min(best, point.validation_share);
  BOOST_TEST(report.best_validation_share == best);
  BOOST_TEST(report.curve.front().update == 0);
  BOOST_TEST(report.curve.back().update == 20);
}

BOOST_AUTO_TEST_CASE(an_interrupted_training_keeps_the_best_so_far) {
  const Workload pool = generated_pool(50, 1);
  const auto early = interrupted(pool, 5);
  BOOST_TEST((early.status().code() == StatusCode::kCancelled));
  const auto late = interrupted(pool, 35);
  BOOST_REQUIRE_MESSAGE(late.ok(), late.status().message());
  BOOST_TEST(late->report.stopped_early);
  BOOST_TEST(late->model.history.stopped_early);
  BOOST_TEST(late->report.curve.back().update == 10);
  BOOST_TEST(!trained(pool, short_training()).model.history.stopped_early);
  BOOST_TEST(validate(late->model).ok());
}

BOOST_AUTO_TEST_CASE(a_short_training_is_cheaper_than_random_placement) {
  PolicyTrainOptions options = short_training();
  options.imitations = 150;
  const PolicyModel policy = trained(generated_pool(80, 5), options).model;
  PolicyTrial trial;
  trial.cluster = {.devices = 4, .memory_bytes = options.tasks.memory_bytes};
  trial.tasks = 12;
  trial.min_tables = 8;
  trial.max_tables = 12;
  trial.samples = 4;
  trial.refine_seconds = 0.01;
  const Workload unseen = generated_pool(60, 6);
  const auto found = compare_policy(unseen, h100_costs(), policy, trial);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  const auto cost = [&](const std::string& name, std::int64_t samples) {
    for (const TriedAlgorithm& tried : found->algorithms) {
      if (tried.algorithm == name && tried.samples == samples) return tried.cost_ms;
    }
    return std::numeric_limits<double>::quiet_NaN();
  };
  BOOST_TEST(found->compared == 12);
  BOOST_TEST(cost("dreamshard", 0) < 0.9 * cost("random", 0));
  BOOST_TEST(cost("dreamshard", 4) <= cost("dreamshard", 0) * 1.00001);
}

BOOST_AUTO_TEST_CASE(a_policy_costs_outputs_of_several_features_and_sequences_as_plans_are_costed) {
  Workload workload = generated_pool(20, 9);
  workload.tables[3].features = 3;
  workload.tables[5].pooled = false;
  const PolicyTasks tasks{{4}, 20, 20, std::int64_t{400'000'000'000}};
  PolicyTaskSource source = PolicyTaskSource::create(workload, h100_costs(), tasks).value();
  std::vector<std::int32_t> ids(workload.tables.size());
  std::iota(ids.begin(), ids.end(), 0);
  Rng rng(9);
  const PolicyTask task = source.draw(ids, rng).value();
  Plan plan{4, {}};
  for (const search::PolicyPiece& piece : task.pieces) plan.shards.push_back(piece.shard);
  const auto cost =
      simulate(workload, plan, h100_costs(), {.devices = 4, .memory_bytes = tasks.memory_bytes});
  BOOST_REQUIRE_MESSAGE(cost.ok(), cost.status().message());
  BOOST_TEST(std::fabs(task.teacher_penalty / cost->cost_ms - 1) < 1e-5);
}

BOOST_AUTO_TEST_CASE(plans_of_a_policy_are_ordinary_plans_and_the_same_on_any_threads) {
  const Workload workload = generated_pool(30, 7);
  const PolicyModel model = random_policy(7);
  const NetworkPolicy policy(model);
  const Cluster cluster{.devices = 4, .memory_bytes = std::int64_t{40'000'000'000}};
  PlanOptions options{.algorithm = "dreamshard", .policy = &policy, .policy_samples = 9};
  const auto alone = make_plan(workload, cluster, h100_costs(), options);
  BOOST_REQUIRE_MESSAGE(alone.ok(), alone.status().message());
  options.threads = 3;
  const auto together = make_plan(workload, cluster, h100_costs(), options);
  BOOST_REQUIRE(together.ok());
  BOOST_TEST((alone->plan == together->plan));
  const auto again = simulate(workload, alone->plan, h100_costs(), cluster);
  BOOST_REQUIRE(again.ok());
  BOOST_TEST(again->cost_ms == alone->cost.cost_ms);
  options.policy = nullptr;
  const auto without = make_plan(workload, cluster, h100_costs(), options);
  BOOST_TEST((without.status().code() == StatusCode::kInvalidInput));
}

BOOST_AUTO_TEST_CASE(bad_options_pools_and_memories_are_named) {
  const Workload pool = generated_pool(50, 1);
  PolicyTrainOptions options = short_training();
  options.episodes = 1;
  expect_invalid(pool, options, "episodes: found 1, expected 2 to");
  options = short_training();
  options.tasks.devices.clear();
  expect_invalid(pool, options, "devices: found 0");
  options = short_training();
  options.tasks.min_tables = 30;
  options.tasks.max_tables = 40;
  expect_invalid(pool, options, "tables: found 50, expected 60 at least");
  options = short_training();
  options.tasks.memory_bytes = 1000;
  expect_invalid(pool, options, "device memory: found 1000");
  options = short_training();
  options.tasks.devices = {2, 65'536};
  options.episodes = 1000;
  expect_invalid(pool, options, "devices: found 65536, expected at most 2631 for tasks of 12");
}

BOOST_AUTO_TEST_CASE(tables_that_go_nowhere_are_named_and_memory_is_not_blamed) {
  Workload pool = generated_pool(50, 1);
  pool.tables[7].devices = DeviceSet({1, 3});
  expect_invalid(pool, short_training(),
                 "found device 3 among its devices, expected below 2, the fewest");
  pool = generated_pool(50, 1);
  pool.tables[7].sharding = {.whole = false, .columns = false, .data_parallel = false};
  expect_invalid(pool, short_training(), "its sharding allows rows, of which this search can make");
  // Together they are more than the only device that they may be on.
  pool = generated_pool(50, 1);
  for (Table& table : pool.tables) table.devices = DeviceSet({0});
  const auto bytes = static_cast<double>(workload_bytes(pool));
  PolicyTrainOptions options = short_training();
  options.tasks.min_tables = 12;
  options.tasks.devices = {4};
  options.tasks.memory_bytes = static_cast<std::int64_t>(bytes / 50 * 5);
  expect_invalid(pool, options, "devices of the tables: in most random tasks of 12 tables");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
