// Trainings that are gone on with: they end where one in one go does, byte for byte, and files of
// other trainings or with anything wrong in them are refused.
#include "engine/policy/policy_checkpoint.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>

#include "engine/policy/policy_file.h"
#include "io/safetensors.h"
#include "tests/policy/small_policies.h"
#include "tests/policy/stop_after.h"

namespace neuroshard::test {

BOOST_AUTO_TEST_SUITE(policy_checkpoint)

namespace {

PolicySettings settings_of(const PolicyTrainOptions& options) {
  return policy_settings(options, random_policy(1).origin, 65'536);
}

/// In turns of so many steps each, through a file in between; `state`: where it ends.
PolicyTraining in_turns(const Workload& pool, const PolicyTrainOptions& options, int steps,
                        int threads, PolicyTrainingState& state) {
  const PolicySettings settings = settings_of(options);
  for (;;) {
    StopAfter sink(steps + 1);
    PolicyTrainControl control;
    control.threads = threads;
    control.progress = &sink;
    control.cancel = &sink.token();
    const std::int64_t before = state.steps;
    auto training = train_policy(pool, h100_costs(), options, control, &state);
    if (training.ok() && !training->report.stopped_early) return std::move(training).value();
    // Who cancels the imitation has no policy, and yet goes on.
    const bool imitating = state.steps < options.imitations;
    BOOST_TEST((training.status().code() == (imitating ? StatusCode::kCancelled : StatusCode::kOk)),
               training.status().message());
    BOOST_TEST_REQUIRE(state.steps > before);
    const std::string file = format_policy_checkpoint(settings, state);
    state = parse_policy_checkpoint(file, "c", settings).value();
  }
}

std::string refusal_of(const std::function<void(io::TensorFile&)>& change) {
  const PolicySettings settings = settings_of(short_training());
  const PolicyTrainingState state{7, {1, 2}, {3, 4}, {5, 6}, {8, 9}, 1, 2, 3, {{0, 1, 2, 3}}};
  io::TensorFile file =
      io::parse_safetensors(format_policy_checkpoint(settings, state), "c").value();
  change(file);
  const auto read = parse_policy_checkpoint(io::format_safetensors(file), "c.state", settings);
  BOOST_TEST((read.status().code() == StatusCode::kInvalidInput));
  return read.status().message();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_training_in_turns_ends_where_one_in_one_go_does) {
  const Workload pool = generated_pool(50, 1);
  for (const PolicyKind kind : {PolicyKind::kDreamshard, PolicyKind::kAutoshard}) {
    PolicyTrainOptions options = short_training(0, kind);
    options.imitations = 7;
    options.updates = 23;
    PolicyTrainingState end;
    const auto whole = train_policy(pool, h100_costs(), options, {}, &end);
    BOOST_REQUIRE_MESSAGE(whole.ok(), whole.status().message());
    PolicyTrainingState state;
    const PolicyTraining turns = in_turns(pool, options, 5, 2, state);
    BOOST_TEST(format_policy(turns.model) == format_policy(whole->model));
    BOOST_TEST(format_policy_training(options, turns.model, turns.report) ==
               format_policy_training(options, whole->model, whole->report));
    BOOST_TEST((state == end));
  }
}

BOOST_AUTO_TEST_CASE(a_time_limit_among_imitations_leaves_what_can_be_gone_on_with) {
  const Workload pool = generated_pool(50, 1);
  PolicyTrainOptions options = short_training();
  options.imitations = 5000;
  PolicyTrainControl control;
  control.time_limit_s = 0.3;
  PolicyTrainingState state;
  const auto training = train_policy(pool, h100_costs(), options, control, &state);
  BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
  BOOST_TEST_REQUIRE(training->report.stopped_early);
  BOOST_TEST(training->report.curve.size() == 1u);  // the policy that is written was looked at
  BOOST_TEST(state.curve.empty());                  // the training has not come to a look
  BOOST_TEST(state.steps < 5000);
}

BOOST_AUTO_TEST_CASE(a_finished_training_that_is_gone_on_with_is_finished) {
  const Workload pool = generated_pool(50, 1);
  const PolicyTrainOptions options = short_training();
  PolicyTrainingState state;
  const PolicyTraining first = train_policy(pool, h100_costs(), options, {}, &state).value();
  const PolicyTrainingState end = state;
  const auto again = train_policy(pool, h100_costs(), options, {}, &state);
  BOOST_REQUIRE_MESSAGE(again.ok(), again.status().message());
  BOOST_TEST(format_policy(again->model) == format_policy(first.model));
  BOOST_TEST((state == end));
}

BOOST_AUTO_TEST_CASE(a_state_of_another_size_is_refused) {
  const Workload pool = generated_pool(50, 1);
  PolicyTrainOptions options = short_training();
  PolicyTrainingState state;
  BOOST_TEST_REQUIRE(train_policy(pool, h100_costs(), options, {}, &state).ok());
  state.best.pop_back();
  auto training = train_policy(pool, h100_costs(), options, {}, &state);
  BOOST_TEST(training.status().message().starts_with("best parameters: found "));
  state.adam_mean.pop_back();
  training = train_policy(pool, h100_costs(), options, {}, &state);
  BOOST_TEST(training.status().message().starts_with("parameters: found "));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_training_names_the_setting) {
  const auto refused_where = [](const std::string& key, const std::string& value) {
    return refusal_of([&](io::TensorFile& file) { file.metadata[key] = value; });
  };
  BOOST_TEST(refused_where("updates", "21") ==
             "c.state: updates: found '21', expected '20', as in this training");
  BOOST_TEST(refused_where("devices", "2,8") ==
             "c.state: devices: found '2,8', expected '2,4', as in this training");
  BOOST_TEST(refused_where("batch_size", "1").find("expected '65536'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_checkpoint_is_named) {
  const auto expect = [](const std::function<void(io::TensorFile&)>& change,
                         const std::string& said) {
    const std::string message = refusal_of(change);
    BOOST_TEST(message.find(said) != std::string::npos, message << ", expected " << said);
  };
  expect([](io::TensorFile& file) { file.metadata["format"] = "neuroshard-policy"; },
         "metadata format: found 'neuroshard-policy'");
  expect([](io::TensorFile& file) { file.metadata.erase("steps"); }, "metadata steps: missing");
  expect([](io::TensorFile& file) { file.metadata["other"] = "1"; }, "other");
  expect([](io::TensorFile& file) { file.metadata["curve"] = "0 1 2"; },
         "metadata curve: found '0 1 2', expected an update and three numbers");
  expect([](io::TensorFile& file) { file.metadata["curve"] = "0 1 2 3;0.5 1 2 3"; },
         "metadata curve: found '0.5 1 2 3'");
  expect([](io::TensorFile& file) { file.tensors.erase("best"); }, "tensor best: missing");
  expect(
      [](io::TensorFile& file) {
        file.tensors["parameters"] = {{0}, {}};
      },
      "tensor parameters: found no values");
  expect([](io::TensorFile& file) { file.tensors["x"] = {{1}, {0}}; }, "tensor x: unknown");
  expect(
      [](io::TensorFile& file) {
        file.tensors["best"] = {{1, 1}, {0}};
      },
      "tensor best: found 2 dimensions, expected 1");
  expect([](io::TensorFile& file) { file.metadata["curve"] = ""; }, "values, expected 0");
  expect(
      [](io::TensorFile& file) {
        file.tensors["best"] = {{1}, {0}};
      },
      "tensor best: found 1 values, expected ");
  expect([](io::TensorFile& file) { file.tensors["adam.square"].values[1] = -1; },
         "tensor adam.square: value 1 is -1, expected 0 or more");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
