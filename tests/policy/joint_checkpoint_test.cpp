// Files of trainings of policies together with their cost networks: all numbers come back to the
// bit, and whatever is wrong in one is one line.
#include "engine/ground_truth/joint_checkpoint.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/ground_truth/joint_policy.h"
#include "engine/ground_truth/joint_state.h"
#include "engine/policy/policy_checkpoint.h"
#include "io/safetensors.h"
#include "tests/policy/counted_truth.h"
#include "tests/policy/small_policies.h"

namespace neuroshard::test {

BOOST_AUTO_TEST_SUITE(joint_checkpoint)

namespace {

const PolicySettings& settings() {
  static const PolicySettings some{{"backend", "sim"}, {"profile", "H100-80G"}, {"plans", "100"}};
  return some;
}

/// Of twelve measured plans, in the first round's pause before the second one's plans.
JointTrainingState some_state() {
  JointTrainingState state;
  state.policy = {30, {1, 2}, {3, 4}, {5, 6}, {8, 9}, 1, 2, 3, {{0, 1, 2, 3}}};
  for (int k = 0; k < 12; ++k) {
    MeasuredPlan plan;
    plan.devices = {{{{k, 4}, {k + 1, 2}}, 1.0 / (k + 3), 0.1 * k, std::sqrt(2.0 + k)},
                    {{}, 0, 1e-7 / 3, std::nextafter(0.7, 1.0)}};
    plan.predicted_ms = k < 10 ? 0 : 1.1 / k;
    state.plans.push_back(plan);
  }
  return state;
}

Result<JointTrainingState> read(const std::string& bytes, const PolicySettings& expected) {
  static const PolicyTrainOptions options = joint_options();
  return parse_joint_checkpoint(bytes, "c.state", expected, JointRounds(kLeastJointPlans, options),
                                joint_pool());
}

std::string refusal_of(const std::function<void(io::TensorFile&)>& change) {
  io::TensorFile file =
      io::parse_safetensors(format_joint_checkpoint(settings(), some_state()), "c").value();
  change(file);
  const auto found = read(io::format_safetensors(file), settings());
  BOOST_TEST((found.status().code() == StatusCode::kInvalidInput));
  return found.status().message();
}

/// One value of a tensor is another one.
std::string refusal_of(const std::string& tensor, std::size_t index, float value) {
  return refusal_of([&](io::TensorFile& file) { file.tensors[tensor].values.at(index) = value; });
}

std::string refusal_of(JointTrainingState state) {
  return read(format_joint_checkpoint(settings(), state), settings()).status().message();
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_was_measured_comes_back_to_the_bit) {
  const JointTrainingState state = some_state();
  const std::string bytes = format_joint_checkpoint(settings(), state);
  const auto again = read(bytes, settings());
  BOOST_REQUIRE_MESSAGE(again.ok(), again.status().message());
  BOOST_TEST((*again == state));
  BOOST_TEST(format_joint_checkpoint(settings(), *again) == bytes);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_training_names_the_setting) {
  const std::string bytes = format_joint_checkpoint(settings(), some_state());
  for (const auto& [key, other] : std::vector<std::pair<std::string, std::string>>{
           {"backend", "cpu"}, {"profile", "A100-80G"}, {"plans", "200"}}) {
    PolicySettings expected = settings();
    expected[key] = other;
    BOOST_TEST(read(bytes, expected).status().message() ==
               "c.state: " + key + ": found '" + settings().at(key) + "', expected '" + other +
                   "', as in this training");
  }
  // Nor is one without networks of its own taken.
  const std::string alone = format_policy_checkpoint(settings(), some_state().policy);
  BOOST_TEST(read(alone, settings()).status().message() ==
             "c.state: metadata format: found 'neuroshard-policy-checkpoint', expected "
             "'neuroshard-joint-checkpoint'");
  BOOST_TEST(!parse_policy_checkpoint(bytes, "c.state", settings()).ok());
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_checkpoint_is_named) {
  BOOST_TEST(refusal_of([](io::TensorFile& file) { file.tensors.erase("plans"); }) ==
             "c.state: tensor plans: missing");
  BOOST_TEST(refusal_of([](io::TensorFile& file) {
               file.tensors["x"] = {{1}, {0}};
             }) == "c.state: tensor x: unknown");
  BOOST_TEST(refusal_of([](io::TensorFile& file) {
               file.tensors["plans.columns"] = {{1}, {0}};
             }) == "c.state: tensor plans.columns: found 1 values, expected more");
  BOOST_TEST(refusal_of("plans", 0, 0) ==
             "c.state: tensor plans: found 0, expected an integer from 1 to 65536");
  BOOST_TEST(refusal_of("plans", 0, 1) ==
             "c.state: tensor plans.devices: found 240 values, expected 230");
  BOOST_TEST(refusal_of("plans.devices", 0, 1.5F).find("found 1.5, expected an integer") !=
             std::string::npos);
  BOOST_TEST(refusal_of("plans.devices", 1, -1).find("tensor plans.devices: found -") !=
             std::string::npos);
  BOOST_TEST(refusal_of("plans.columns", 1, 0).find("found 0, expected an integer from 1") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(plans_and_steps_that_no_training_has_are_named) {
  JointTrainingState state = some_state();
  state.plans[3].devices[0].columns[0].table = 60;
  BOOST_TEST(refusal_of(state) == "c.state: measured plan 3: found table 60, expected one of 60");
  state = some_state();
  state.plans[11].devices[0].columns[1].dim = 1 << 20;
  BOOST_TEST(refusal_of(state).find("measured plan 11: found 1048576 columns of table 12") !=
             std::string::npos);
  state = some_state();
  state.plans[0].devices.resize(1);
  BOOST_TEST(refusal_of(state).find("measured plan 0: found 1 devices, expected one of") !=
             std::string::npos);
  state = some_state();
  state.plans[0].devices[0].compute_ms = 0;
  BOOST_TEST(refusal_of(state).find("measured plan 0: found lookups of 0 ms") != std::string::npos);
  state = some_state();
  state.plans[0].devices[0].columns.clear();
  BOOST_TEST(refusal_of(state).find("measured plan 0: found no tables") != std::string::npos);
  state = some_state();
  state.plans.resize(101, state.plans[0]);
  BOOST_TEST(refusal_of(state) == "c.state: measured plans: found 101, expected at most 100");
  // Between plans 10 and 20 the policy stands at the end of the first round's updates.
  state = some_state();
  state.policy.steps = 31;
  BOOST_TEST(refusal_of(state) ==
             "c.state: steps: found 31, expected from 30 to 30 after 12 measured plans");
  state.plans.resize(10);
  BOOST_TEST(refusal_of(state) ==
             "c.state: steps: found 31, expected from 0 to 30 after 10 measured plans");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
