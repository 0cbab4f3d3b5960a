// Policies that are trained together with their cost networks, by measured plans.
#include "engine/ground_truth/joint_policy.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "engine/cost_model/cost_model_file.h"
#include "engine/ground_truth/measured_plans.h"
#include "engine/policy/policy_file.h"
#include "tests/policy/counted_truth.h"
#include "tests/policy/small_policies.h"
#include "tests/support/sanitized.h"

namespace neuroshard::test {

BOOST_AUTO_TEST_SUITE(joint_policy)

namespace {

/// Ended by its caller after so many lookups.
Result<JointTraining> ended(const Workload& pool, int lookups, int threads) {
  CancelToken token;
  CountedTruth truth(&token, lookups);
  PolicyTrainControl control;
  control.threads = threads;
  control.cancel = &token;
  return train_joint_policy(truth, pool, kLeastJointPlans, joint_options(), control);
}

}  // namespace

BOOST_AUTO_TEST_CASE(networks_of_a_hundred_plans_know_the_plans_that_the_policy_draws) {
  // Ten rounds take sanitizers a minute; they see the same of the interrupted ones.
  if (kSanitized) return;
  const Workload& pool = joint_pool();
  CountedTruth truth;
  const auto found = train_joint_policy(truth, pool, kLeastJointPlans, joint_options(), {});
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(truth.exchanges == 2 * kLeastJointPlans);  // forward and backward
  const JointTraining& one = *found;
  const std::vector<PolicyRound>& rounds = one.policy.report.rounds;
  BOOST_TEST_REQUIRE(rounds.size() == 10u);
  BOOST_TEST(std::isnan(rounds.front().error));
  BOOST_TEST(rounds.back().plans == kLeastJointPlans);
  BOOST_TEST(rounds.back().error < 0.15);
  BOOST_TEST(rounds.back().error < rounds[1].error);
  BOOST_TEST(one.policy.report.best_validation_share < 1.25);
  BOOST_TEST(one.costs.comm->min_devices == 2);
  BOOST_TEST(one.costs.comm->max_devices == 3);
  BOOST_TEST((one.costs.compute_origin.provenance == Provenance::kSimulated));
}

BOOST_AUTO_TEST_CASE(a_measured_plan_costs_what_its_slowest_device_takes) {
  const Workload pool = generated_pool(4, 3);
  CountedTruth truth;
  const auto halves = [&](std::int32_t table) {
    const std::int32_t half = pool.tables[static_cast<std::size_t>(table)].dim / 2;
    return MeasuredColumns{table, half};
  };
  const auto balanced =
      measure_columns(truth, pool, {{halves(0), halves(1)}, {halves(0), halves(1)}});
  BOOST_REQUIRE_MESSAGE(balanced.ok(), balanced.status().message());
  const auto on_one =
      measure_columns(truth, pool, {{halves(0), halves(0), halves(1), halves(1)}, {}});
  BOOST_REQUIRE_MESSAGE(on_one.ok(), on_one.status().message());
  BOOST_TEST(measured_ms(*on_one) > measured_ms(*balanced));
  BOOST_TEST(truth.lookups == 4);
  const MeasuredPlan plans[] = {*balanced, *on_one};
  BOOST_TEST((fit_costs(truth, pool, plans, 0, {}).status().code() == StatusCode::kInvalidInput));
  BOOST_TEST((fit_costs(truth, pool, {}, 0, {}).status().code() == StatusCode::kInvalidInput));
}

BOOST_AUTO_TEST_CASE(an_interruption_leaves_the_best_so_far_if_there_are_networks) {
  const Workload& pool = joint_pool();
  BOOST_TEST((ended(pool, 5, 1).status().code() == StatusCode::kCancelled));
  const auto one = ended(pool, 70, 1);
  BOOST_REQUIRE_MESSAGE(one.ok(), one.status().message());
  BOOST_TEST(one->policy.report.stopped_early);
  BOOST_TEST(one->policy.report.rounds.size() < 10u);
  BOOST_TEST(validate(one->policy.model).ok());
  // Whatever the threads.
  const auto other = ended(pool, 70, 3);
  BOOST_REQUIRE_MESSAGE(other.ok(), other.status().message());
  BOOST_TEST(format_policy(other->policy.model) == format_policy(one->policy.model));
  BOOST_TEST(format_cost_models(other->costs) == format_cost_models(one->costs));
}

BOOST_AUTO_TEST_CASE(too_few_plans_and_one_device_are_refused) {
  const Workload& pool = joint_pool();
  CountedTruth truth;
  PolicyTrainOptions options = joint_options();
  auto training = train_joint_policy(truth, pool, 99, options, {});
  BOOST_TEST(training.status().message() == "plans: found 99, expected at least 100");
  options.tasks.devices = {1, 2};
  training = train_joint_policy(truth, pool, 100, options, {});
  BOOST_TEST(training.status().message().starts_with("devices: found 1, expected at least 2"));
  BOOST_TEST(truth.lookups == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
