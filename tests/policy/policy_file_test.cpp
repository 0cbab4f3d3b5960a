// Policy files: what is written is read, and what is wrong is named in one line.
#include "engine/policy/policy_file.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>

#include "io/safetensors.h"
#include "tests/policy/small_policies.h"

namespace neuroshard::test {

BOOST_AUTO_TEST_SUITE(policy_file)

namespace {

/// What is said of a file that was changed.
std::string refusal_of(const std::function<void(io::TensorFile&)>& change,
                       PolicyKind kind = PolicyKind::kAutoshard) {
  io::TensorFile file =
      io::parse_safetensors(format_policy(random_policy(1, 8, kind)), "p").value();
  change(file);
  const auto read = parse_policy(io::format_safetensors(file), "p.safetensors");
  BOOST_TEST((read.status().code() == StatusCode::kInvalidInput));
  const std::string message = read.status().message();
  BOOST_TEST(message.starts_with("p.safetensors: "), message);
  BOOST_TEST(message.find('\n') == std::string::npos);
  return message;
}

void expect_refusal(const std::function<void(io::TensorFile&)>& change, const std::string& said) {
  const std::string message = refusal_of(change);
  BOOST_TEST(message.find(said) != std::string::npos, message << ", expected " << said);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  for (const PolicyKind kind : {PolicyKind::kDreamshard, PolicyKind::kAutoshard}) {
    PolicyModel model = random_policy(1, 8, kind);
    model.history.stopped_early = kind == PolicyKind::kAutoshard;
    model.history.seed = ~std::uint64_t{0};
    const auto read = parse_policy(format_policy(model), "p");
    BOOST_REQUIRE_MESSAGE(read.ok(), read.status().message());
    BOOST_TEST((read->tasks == model.tasks));
    BOOST_TEST((read->kind == kind));
    BOOST_TEST((read->origin == model.origin));
    BOOST_TEST((read->history == model.history));
    BOOST_TEST(read->lstm == model.lstm);
    BOOST_TEST((read->features == model.features));
    BOOST_TEST(read->scaling.mean == model.scaling.mean);
    BOOST_TEST(read->scaling.std == model.scaling.std);
    BOOST_TEST(std::equal(model.table.parameters().begin(), model.table.parameters().end(),
                          read->table.parameters().begin(), read->table.parameters().end()));
    BOOST_TEST(std::equal(model.head.parameters().begin(), model.head.parameters().end(),
                          read->head.parameters().begin(), read->head.parameters().end()));
    BOOST_TEST(format_policy(*read) == format_policy(model));
  }
}

BOOST_AUTO_TEST_CASE(every_key_and_tensor_has_to_be_there) {
  const io::TensorFile file =
      io::parse_safetensors(format_policy(random_policy(1, 8, PolicyKind::kAutoshard)), "p")
          .value();
  for (const auto& [key, value] : file.metadata) {
    expect_refusal([key = key](io::TensorFile& changed) { changed.metadata.erase(key); },
                   "metadata " + key + ": missing");
  }
  for (const auto& [name, tensor] : file.tensors) {
    refusal_of([name = name](io::TensorFile& changed) { changed.tensors.erase(name); });
  }
}

BOOST_AUTO_TEST_CASE(what_nobody_knows_is_refused) {
  expect_refusal([](io::TensorFile& file) { file.metadata["colour"] = "red"; },
                 "metadata 'colour': unknown key");
  expect_refusal(
      [](io::TensorFile& file) {
        file.tensors["more"] = {{1}, {0}};
      },
      "unknown tensor 'more'");
}

BOOST_AUTO_TEST_CASE(values_out_of_range_are_named) {
  const auto with = [](const std::string& key, const std::string& value) {
    return [key, value](io::TensorFile& file) { file.metadata[key] = value; };
  };
  expect_refusal(with("format", "neuroshard-cost-models"), "expected 'neuroshard-policy'");
  expect_refusal(with("version", "2"), "metadata version: found '2', expected '1'");
  expect_refusal(with("kind", "other"),
                 "metadata kind: found 'other', expected dreamshard, autoshard");
  expect_refusal(with("kind", "dreamshard"), "LSTM's parameters: found 544, expected 0");
  expect_refusal(with("reward", "speed"), "metadata reward: found 'speed', expected cost, balance");
  expect_refusal(with("seed", "-1"), "metadata seed: found '-1'");
  expect_refusal(with("held_out_tables", "0"), "metadata held_out_tables: found '0'");
  expect_refusal(with("stopped_early", "no"), "metadata stopped_early: found 'no'");
  expect_refusal(with("devices", "2,x"), "metadata devices: found '2,x'");
  expect_refusal(with("devices", ""), "metadata devices: found ''");
  expect_refusal(with("devices", "4,2"), "devices: found 2");
  expect_refusal(with("devices", "0"), "devices: found 0");
  expect_refusal(with("min_tables", "13"), "metadata min_tables: found '13'");
  expect_refusal(with("provenance", "guessed"), "expected 'measured' or 'simulated'");
  expect_refusal(with("features", "dim,colour"), "metadata features");
  expect_refusal(with("features", "dim"), "scaling: found 11, expected 1");
}

BOOST_AUTO_TEST_CASE(memories_of_recurrent_policies_that_do_not_fit_are_named) {
  expect_refusal([](io::TensorFile& file) { file.tensors.erase("policy.lstm.bias"); },
                 "tensor policy.lstm.bias: missing");
  expect_refusal(
      [](io::TensorFile& file) {
        file.tensors["policy.lstm.recurrent"] = {{32, 4}, std::vector<float>(128)};
      },
      "tensor policy.lstm.recurrent: found 32 x 4, expected 32 x 8");
  expect_refusal(
      [](io::TensorFile& file) {
        for (const char* const name : {"weight", "bias", "recurrent"}) {
          file.tensors.erase(std::string("policy.lstm.") + name);
        }
      },
      "LSTM's parameters: found 0, expected 544");
  expect_refusal(
      [](io::TensorFile& file) {
        file.tensors["policy.lstm.weight"] = {{0}, {}};
      },
      "tensor policy.lstm.weight: found 0, expected 4 H x H");
}

BOOST_AUTO_TEST_CASE(parts_that_do_not_fit_each_other_are_named) {
  expect_refusal([](io::TensorFile& file) { file.tensors["policy.feature_std"].values[3] = 0; },
                 "a deviation that is not above 0");
  expect_refusal(
      [](io::TensorFile& file) {
        file.tensors["policy.head.0.weight"] = {{8, 3}, std::vector<float>(24)};
      },
      "head's inputs: found 3, expected 8");
  expect_refusal(
      [](io::TensorFile& file) {
        file.tensors["policy.head.0.weight"] = {{4, 8}, std::vector<float>(32)};
        file.tensors["policy.head.0.bias"] = {{4}, std::vector<float>(4)};
        file.tensors["policy.head.1.weight"] = {{1, 4}, std::vector<float>(4)};
      },
      "hidden units: found 4, expected a multiple of 8");
  expect_refusal(
      [](io::TensorFile& file) {
        file.tensors["policy.table.1.weight"] = {{8, 12}, std::vector<float>(96)};
        file.tensors["policy.table.1.bias"] = {{8}, std::vector<float>(8)};
      },
      "table network's outputs: found 8, expected 16");
}

BOOST_AUTO_TEST_CASE(tasks_outside_of_the_training_get_a_remark) {
  const PolicyModel model = random_policy(1);
  BOOST_TEST(outside_of_training(model, "p", 4, 12) == "");
  BOOST_TEST(outside_of_training(model, "p", 3, 4) == "");
  BOOST_TEST(outside_of_training(model, "p", 8, 100) ==
             "p: trained on 2 and 4 devices and 4 to 12 tables, what it does with 100 tables on 8 "
             "devices is not known");
  PolicyModel one = model;
  one.tasks = {{1}, 1, 1, 1};
  BOOST_TEST(outside_of_training(one, "p", 2, 1) ==
             "p: trained on 1 device and 1 table, what it does with 1 table on 2 devices is not "
             "known");
  BOOST_TEST(outside_of_training(model, "p", 4, 3) != "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
