// Policies that are trained together with their cost networks, in turns: interrupted anywhere, they
// end where one in one go does, byte for byte, and measure no plan twice.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/cost_model/cost_model_file.h"
#include "engine/ground_truth/joint_checkpoint.h"
#include "engine/ground_truth/joint_policy.h"
#include "engine/ground_truth/joint_state.h"
#include "engine/policy/policy_checkpoint.h"
#include "engine/policy/policy_file.h"
#include "tests/policy/counted_truth.h"
#include "tests/policy/small_policies.h"
#include "tests/policy/stop_after.h"
#include "tests/support/sanitized.h"

namespace neuroshard::test {

BOOST_AUTO_TEST_SUITE(joint_resume)

namespace {

const PolicyTrainOptions& options() {
  static const PolicyTrainOptions few = joint_options();
  return few;
}

/// A training and where it stands in the end.
struct Trained {
  JointTrainingState state;
  JointTraining joint;
};

const Trained& in_one_go() {
  static const Trained whole = [] {
    CountedTruth truth;
    Trained trained;
    trained.joint =
        train_joint_policy(truth, joint_pool(), kLeastJointPlans, options(), {}, &trained.state)
            .value();
    return trained;
  }();
  return whole;
}

/// Devices of the first plans: what is asked for lookups.
int lookups_of(std::size_t plans) {
  int lookups = 0;
  for (std::size_t k = 0; k < plans; ++k) {
    lookups += static_cast<int>(in_one_go().state.plans[k].devices.size());
  }
  return lookups;
}

void expect_as_in_one_go(const JointTraining& joint) {
  const JointTraining& whole = in_one_go().joint;
  BOOST_TEST(format_cost_models(joint.costs) == format_cost_models(whole.costs));
  BOOST_TEST(format_policy(joint.policy.model) == format_policy(whole.policy.model));
  BOOST_TEST(format_policy_training(options(), joint.policy.model, joint.policy.report) ==
             format_policy_training(options(), whole.policy.model, whole.policy.report));
}

/// As a file and back.
JointTrainingState kept(const JointTrainingState& state) {
  const PolicySettings settings = training_settings(options(), "", joint_pool().batch_size);
  const JointRounds rounds(kLeastJointPlans, options());
  auto read = parse_joint_checkpoint(format_joint_checkpoint(settings, state), "c", settings,
                                     rounds, joint_pool());
  BOOST_REQUIRE_MESSAGE(read.ok(), read.status().message());
  BOOST_TEST((*read == state));
  return std::move(read).value();
}

/// One turn that goes on from `state`, until it has told so often how far it is.
Result<JointTraining> turn(JointTrainingState& state, int calls, int threads, int* lookups) {
  CountedTruth truth;
  StopAfter sink(calls);
  PolicyTrainControl control;
  control.threads = threads;
  control.progress = &sink;
  control.cancel = &sink.token();
  auto joint =
      train_joint_policy(truth, joint_pool(), kLeastJointPlans, options(), control, &state);
  *lookups += truth.lookups;
  return joint;
}

/// One turn that is cancelled at that lookup.
Result<JointTraining> turn_of_lookups(JointTrainingState& state, int until, int* lookups) {
  CancelToken token;
  CountedTruth truth(&token, until);
  PolicyTrainControl control;
  control.cancel = &token;
  auto joint =
      train_joint_policy(truth, joint_pool(), kLeastJointPlans, options(), control, &state);
  *lookups += truth.lookups;
  return joint;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_training_in_turns_ends_where_one_in_one_go_does) {
  if (kSanitized) return;  // minutes; they see the interrupted turns below
  JointTrainingState state;
  int lookups = 0;
  const auto stands = [&](std::size_t plans, std::int64_t steps) {
    BOOST_TEST(state.plans.size() == plans);
    BOOST_TEST(state.policy.steps == steps);
    state = kept(state);
  };
  const auto no_policy = [](const Result<JointTraining>& joint) {
    BOOST_TEST((joint.status().code() == StatusCode::kCancelled), joint.status().message());
  };
  // In the first plans, while the first networks are fitted, and in the imitation.
  no_policy(turn(state, 5, 1, &lookups));
  stands(5, 0);
  no_policy(turn_of_lookups(state, lookups_of(10) - lookups_of(5), &lookups));
  stands(10, 0);
  no_policy(turn(state, 12, 3, &lookups));
  stands(10, 11);
  // While the third networks are fitted: the policy is the best by the second ones.
  const auto fitting = turn_of_lookups(state, lookups_of(30) - lookups_of(10), &lookups);
  BOOST_REQUIRE_MESSAGE(fitting.ok(), fitting.status().message());
  BOOST_TEST(fitting->policy.report.stopped_early);
  BOOST_TEST(!fitting->policy.report.curve.empty());
  BOOST_TEST(state.policy.curve.empty());
  stands(30, 40);
  // In later plans and updates.
  int turns = 0;
  for (bool done = false; !done; ++turns) {
    const auto joint = turn(state, 47, 2, &lookups);
    BOOST_REQUIRE_MESSAGE(joint.ok(), joint.status().message());
    state = kept(state);
    done = !joint->policy.report.stopped_early;
    if (done) expect_as_in_one_go(*joint);
  }
  BOOST_TEST(turns > 2);
  BOOST_TEST((state == in_one_go().state));
  BOOST_TEST(lookups == lookups_of(kLeastJointPlans));
}

BOOST_AUTO_TEST_CASE(a_finished_training_that_is_gone_on_with_measures_nothing) {
  if (kSanitized) return;
  JointTrainingState state = kept(in_one_go().state);
  CountedTruth truth;
  const auto joint =
      train_joint_policy(truth, joint_pool(), kLeastJointPlans, options(), {}, &state);
  BOOST_REQUIRE_MESSAGE(joint.ok(), joint.status().message());
  expect_as_in_one_go(*joint);
  BOOST_TEST((state == in_one_go().state));
  BOOST_TEST(truth.lookups == 0);
}

BOOST_AUTO_TEST_CASE(interrupted_turns_go_on) {
  JointTrainingState state;
  int lookups = 0;
  BOOST_TEST((turn(state, 5, 1, &lookups).status().code() == StatusCode::kCancelled));
  BOOST_TEST(state.plans.size() == 5u);
  BOOST_TEST((turn(state, 12, 1, &lookups).status().code() == StatusCode::kCancelled));
  BOOST_TEST(state.plans.size() == 10u);
  BOOST_TEST(state.policy.steps == 6);
  const auto joint = turn(state, 30, 2, &lookups);
  BOOST_REQUIRE_MESSAGE(joint.ok(), joint.status().message());
  BOOST_TEST(joint->policy.report.stopped_early);
  BOOST_TEST(state.plans.size() == 15u);
  BOOST_TEST(state.policy.steps == 30);
}

BOOST_AUTO_TEST_CASE(a_state_that_no_training_comes_to_is_refused) {
  CountedTruth truth;
  JointTrainingState state;
  state.policy.steps = 3;
  auto joint = train_joint_policy(truth, joint_pool(), kLeastJointPlans, options(), {}, &state);
  BOOST_TEST(joint.status().message() ==
             "steps: found 3, expected from 0 to 0 after 0 measured plans");
  BOOST_TEST(state.policy.steps == 3);
  state.policy = {};
  state.policy.parameters = {1, 2};
  joint = train_joint_policy(truth, joint_pool(), kLeastJointPlans, options(), {}, &state);
  BOOST_TEST(joint.status().message().starts_with("parameters: found 2, expected "));
  BOOST_TEST(truth.lookups == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
