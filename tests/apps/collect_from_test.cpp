// What was measured without the engine becomes cost data: results in the place of a GPU's are
// collected, and a model is judged and calibrated by them.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/apps/unsure_example.h"

namespace {

namespace json = boost::json;
using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::UnsureExample;

}  // namespace

BOOST_AUTO_TEST_SUITE(collect_from)

BOOST_AUTO_TEST_CASE(results_become_cost_data_that_a_model_is_calibrated_with) {
  const UnsureExample example;
  BOOST_TEST_REQUIRE(example.exported("made", {"--for", "least-sure 24"}).exit_code == 0);
  example.write_results("made", example.results("made"));
  const Outcome collected = example.collected("made", "data");
  BOOST_TEST_REQUIRE(collected.exit_code == 0, collected.err);
  BOOST_TEST(collected.out ==
             "24 samples in data, 24 of them new\nmeasured on Test GPU by PyTorch/FBGEMM\n");
  const Outcome again = example.collected("made", "data");
  BOOST_TEST(again.exit_code == 0);
  BOOST_TEST(again.out.starts_with("24 samples in data, 0 of them new\n"), again.out);

  const std::string base = example.trained.file("four.safetensors");
  const Outcome evaluated =
      example.run({"evaluate", "compute", "--data", "data", "--cost-model", base, "--output", "-"});
  BOOST_TEST_REQUIRE(evaluated.exit_code == 0, evaluated.err);
  const json::value metrics = json::parse(evaluated.out);
  // All measured times are twice what the model says, read back through pool, shards and sets.
  BOOST_TEST(metrics.at("networks").at("compute").at("mape").to_number<double>() == 0.5,
             boost::test_tools::tolerance(1e-3));
  const Outcome calibrated = example.run({"calibrate", "compute", "--base", base, "--data", "data",
                                          "--epochs", "5", "--output", "fitted.safetensors"});
  BOOST_TEST_REQUIRE(calibrated.exit_code == 0, calibrated.err);
  BOOST_TEST(calibrated.out.find("measured on Test GPU by PyTorch/FBGEMM, 24 samples") !=
                 std::string::npos,
             calibrated.out);
  // What came out has members again: the next sets can be asked for.
  std::vector<std::string> next = example.words("next");
  next.back() = example.folder.file("fitted.safetensors");
  next.insert(next.end(), {"--for", "least-sure 3"});
  BOOST_TEST(example.run(std::move(next)).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(results_that_are_not_of_these_sets_are_refused) {
  const UnsureExample example;
  BOOST_TEST_REQUIRE(example.exported("made", {"--for", "least-sure 3"}).exit_code == 0);
  expect_one_line(example.collected("made", "data"), 2, "made/results.json: ");
  const json::object good = example.results("made");
  const auto refused = [&](const auto& change, const std::string& message) {
    json::object bad = good;
    change(bad);
    example.write_results("made", bad);
    expect_one_line(example.collected("made", "data"), 2, message);
  };
  refused([](json::object& bad) { bad["benchmark_sha256"] = "0"; },
          "made/results.json: $.benchmark_sha256: found '0', expected the SHA-256 of");
  refused([](json::object& bad) { bad["sets"].as_array().pop_back(); },
          "made/results.json: $.sets: found 2 sets, expected the 3 of benchmark.json");
  refused([](json::object& bad) { bad["sets"].at(1).as_object()["total_ms"] = 0; },
          "made/results.json: $.sets[1].total_ms: found 0, expected");
  refused([](json::object& bad) { bad["sets"].at(1).as_object()["total_ms"] = 1000; },
          "made/results.json: $.sets[1].total_ms: found 1000, expected about ");
  refused([](json::object& bad) { bad["sets"].at(2).as_object()["forward_ms"] = nullptr; },
          "made/results.json: $.sets[2].forward_ms: found null, expected");
  refused([](json::object& bad) { bad["sets"].at(0).as_object().erase("backward_ms"); },
          "made/results.json: $.sets[0]: found no key 'backward_ms'");
  refused([](json::object& bad) { bad["runs"] = 0; },
          "made/results.json: $.runs: found 0, expected");
  refused([](json::object& bad) { bad["device"] = "tpu"; }, "expected 'cuda' or 'cpu'");
  refused([](json::object& bad) { bad["hardware"] = ""; },
          "made/results.json: $.hardware: found '', expected the hardware's name");
  refused([](json::object& bad) { bad["foo"] = 1; }, "made/results.json: $.foo: ");
  refused([](json::object& bad) { bad["sets"].at(1).as_object()["foo"] = 1; },
          "made/results.json: $.sets[1].foo: ");
  BOOST_TEST(!std::filesystem::exists(example.folder.file("data")));

  std::filesystem::create_directory(example.folder.file("plan"));
  example.folder.write("plan/benchmark.json",
                       R"({"format": "neuroshard-benchmark", "version": 1, "shards": []})");
  expect_one_line(example.collected("plan", "data"), 2, "found a benchmark of a plan, expected");

  example.write_results("made", good);
  BOOST_TEST_REQUIRE(example.collected("made", "data").exit_code == 0);
  json::object others = good;
  others["runs"] = 21;
  example.write_results("made", others);
  expect_one_line(example.collected("made", "data"), 2, "cannot resume with");
  expect_one_line(
      example.run({"collect", "compute", "--from", "made", "--output", "x", "--seed", "1"}), 2,
      "--seed: found with --from, expected without");
  expect_one_line(example.run({"collect", "compute", "--output", "x"}), 2, "found no --backend");
}

BOOST_AUTO_TEST_SUITE_END()
