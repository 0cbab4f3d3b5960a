// Training of policies: the same whatever the threads, better than chance, and what ends it early.
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>

#include "engine/ground_truth/policy_comparison.h"
#include "engine/planner/planner.h"
#include "engine/policy/network_policy.h"
#include "engine/policy/policy_file.h"
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
  const PolicyTraining alone = trained(pool, short_training());
  const PolicyTraining together = trained(pool, short_training(), 3);
  BOOST_TEST(format_policy(alone.model) == format_policy(together.model));
  const std::string report = format_policy_training(short_training(), alone.model, alone.report);
  BOOST_TEST(report == format_policy_training(short_training(), together.model, together.report));
  BOOST_TEST(format_policy(trained(pool, short_training(1)).model) != format_policy(alone.model));
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
  BOOST_TEST(late->report.interrupted);
  BOOST_TEST(late->report.curve.back().update == 10);
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
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
