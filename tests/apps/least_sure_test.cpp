// The loop that teaches a cost model the hardware of others: the sets that it is least sure of as a
// folder, results in the place of a GPU's, and the cost data that they become. The script itself is
// run by scripts/test-torchrec.sh.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "io/sha256.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {
namespace least_sure_suite {

namespace json = boost::json;
using neuroshard::io::sha256_hex;
using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::split_words;
using neuroshard::test::TemporaryFolder;

constexpr const char* kTables = R"({"format": "neuroshard-tables", "version": 1, "batch_size": 4096,
 "tables": [
  {"name": "user", "rows": 40000, "dim": 32, "pooling_factor": 10, "zipf_alpha": 1.05},
  {"name": "item", "rows": 5000, "dim": 16, "pooling_factor": 3, "zipf_alpha": 0.8},
  {"name": "even", "rows": 700, "dim": 8, "pooling_factor": 1.5}]})";

/// Cost models of four members, made once: training takes a second.
struct Trained {
  TemporaryFolder folder;
  Trained() {
    folder.write("tables.json", kTables);
    run("collect compute --backend sim --profile H200-141G --samples 200 --tables tables.json "
        "--batch-size 4096 --row-parts 4 --output data");
    run("train compute --data data --epochs 20 --output four.safetensors");
    run("train compute --data data --epochs 2 --members 1 --output one.safetensors");
  }
  void run(const std::string& words) const {
    const Outcome outcome = run_command(split_words(words), {.directory = folder.path()});
    BOOST_TEST_REQUIRE(outcome.exit_code == 0, words << ": " << outcome.err);
  }
  static const Trained& get() {
    static const Trained trained;
    return trained;
  }
};

struct Example {
  const TemporaryFolder& trained = Trained::get().folder;
  TemporaryFolder folder;

  [[nodiscard]] Outcome run(std::vector<std::string> words) const {
    return run_command(words, {.directory = folder.path()});
  }
  /// `export` without --for.
  [[nodiscard]] std::vector<std::string> words(const std::string& output,
                                               const std::string& model = "four") const {
    return {"export",   "--tables",     trained.file("tables.json"),
            "--format", "benchmark",    "--output",
            output,     "--cost-model", trained.file(model + ".safetensors")};
  }
  [[nodiscard]] Outcome exported(const std::string& output, const std::vector<std::string>& more,
                                 const std::string& model = "four") const {
    std::vector<std::string> all = words(output, model);
    all.insert(all.end(), more.begin(), more.end());
    return run(std::move(all));
  }
  [[nodiscard]] json::value benchmark(const std::string& output) const {
    return json::parse(slurp(folder.file(output + "/benchmark.json")));
  }
  /// What a GPU twice as slow as the model says would have measured.
  [[nodiscard]] json::object results(const std::string& output) const {
    const json::value made = benchmark(output);
    json::array sets;
    for (const json::value& set : made.at("predicted").at("sets").as_array()) {
      const double ms = 2 * set.at("compute_ms").as_double();
      sets.push_back({{"forward_ms", ms / 3}, {"backward_ms", 2 * ms / 3}, {"total_ms", ms}});
    }
    return {{"format", "neuroshard-benchmark-results"},
            {"version", 1},
            {"benchmark_sha256", sha256_hex(slurp(folder.file(output + "/benchmark.json")))},
            {"device", "cuda"},
            {"hardware", "Test GPU"},
            {"torch", "2.9"},
            {"fbgemm", "1.4"},
            {"warmup", 5},
            {"runs", 20},
            {"sets", sets}};
  }
  void write_results(const std::string& output, const json::object& results) const {
    folder.write(output + "/results.json", json::serialize(results));
  }
  [[nodiscard]] Outcome collected(const std::string& from, const std::string& output) const {
    return run({"collect", "compute", "--from", from, "--output", output});
  }
};

}  // namespace least_sure_suite
using namespace least_sure_suite;
}  // namespace

BOOST_AUTO_TEST_SUITE(least_sure)

BOOST_AUTO_TEST_CASE(the_sets_chosen_are_those_that_members_disagree_about_most) {
  const Example example;
  const Outcome outcome = example.exported("made", {"--for", "least-sure", "24"});
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.err.empty(), outcome.err);
  BOOST_TEST(outcome.out.starts_with("24 sets of "), outcome.out);
  const json::value made = example.benchmark("made");
  const json::value& predicted = made.at("predicted");
  const json::array& spreads = predicted.at("sets").as_array();
  BOOST_TEST(made.at("sets").as_array().size() == 24U);
  BOOST_TEST_REQUIRE(spreads.size() == 24U);
  BOOST_TEST(predicted.at("candidates").as_int64() > 300);
  double before = spreads.front().at("spread").as_double();
  for (const json::value& set : spreads) {
    BOOST_TEST(set.at("spread").as_double() <= before);
    before = set.at("spread").as_double();
  }
  BOOST_TEST(before > predicted.at("median_spread").as_double());
  BOOST_TEST(predicted.at("median_spread").as_double() > 0);
}

BOOST_AUTO_TEST_CASE(the_folder_has_what_the_script_needs_and_the_same_bytes_twice) {
  const Example example;
  for (const std::string output : {"a", "b", "other"}) {
    const Outcome outcome = example.exported(
        output, {"--for", "least-sure 5", "--seed", output == "other" ? "2" : "1"});
    BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  }
  std::size_t files = 0;
  for (const std::string name :
       {"benchmark.json", "table_configs.json", "indices/indices.npy", "indices/offsets.npy",
        "indices/lengths.npy", "run_sets.py", "plan_data.py", "fused_lookup.py"}) {
    BOOST_TEST_CONTEXT(name) {
      const std::string bytes = slurp(example.folder.file("a/" + name));
      BOOST_TEST(!bytes.empty());
      BOOST_TEST((bytes == slurp(example.folder.file("b/" + name))));
      if (name.ends_with(".py")) BOOST_TEST((bytes == slurp(source_file("io/benchmark/" + name))));
    }
    ++files;
  }
  const auto entries = std::filesystem::recursive_directory_iterator(example.folder.path() / "a");
  BOOST_TEST(static_cast<std::size_t>(std::distance(begin(entries), end(entries))) ==
             files + 1);  // and the folder of the indices
  BOOST_TEST((slurp(example.folder.file("a/benchmark.json")) !=
              slurp(example.folder.file("other/benchmark.json"))));
}

BOOST_AUTO_TEST_CASE(results_become_cost_data_that_a_model_is_calibrated_with) {
  const Example example;
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
  const Example example;
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
  refused([](json::object& bad) { bad["sets"].at(2).as_object()["forward_ms"] = nullptr; },
          "made/results.json: $.sets[2].forward_ms: found null, expected");
  refused([](json::object& bad) { bad["sets"].at(0).as_object().erase("backward_ms"); },
          "made/results.json: $.sets[0]: found no key 'backward_ms'");
  refused([](json::object& bad) { bad["runs"] = 0; },
          "made/results.json: $.runs: found 0, expected");
  refused([](json::object& bad) { bad["device"] = "tpu"; }, "expected 'cuda' or 'cpu'");
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

BOOST_AUTO_TEST_CASE(flags_of_plans_are_told_to_have_no_place) {
  const Example example;
  const Outcome outcome = example.exported("made", {"--for", "least-sure 3", "--devices", "2",
                                                    "--dense-ms", "1", "--cache-hits", "curve"});
  BOOST_TEST(outcome.exit_code == 0);
  BOOST_TEST(outcome.err ==
             "--dense-ms: a benchmark of sets has no place for it\n"
             "--devices: a benchmark of sets has no place for it\n"
             "--cache-hits: a benchmark of sets has no place for it\n");
}

BOOST_AUTO_TEST_CASE(what_has_no_least_sure_sets_is_refused) {
  const Example example;
  const auto refused = [&](const std::string& choice, const std::string& model,
                           const std::string& message) {
    std::vector<std::string> all = example.words("x");
    all.back() = model;
    all.insert(all.end(), {"--for", choice});
    expect_one_line(example.run(std::move(all)), 2, message);
  };
  const std::string four = example.trained.file("four.safetensors");
  refused("least-sure 3", "torchrec", "--cost-model: found 'torchrec', expected trained");
  refused("least-sure 3", example.trained.file("one.safetensors"),
          "one.safetensors: found a compute model of one network, expected several members");
  refused("least-sure 0", four, "--for: found 'least-sure 0', expected least-sure K");
  refused("most-sure 3", four, "--for: found 'most-sure 3', expected least-sure K");
  expect_one_line(example.exported("x", {"--for", "least-sure 3", "--plan", "plan.json"}), 2,
                  "--plan: found with --for, expected without");
  expect_one_line(example.exported("x", {"--for", "least-sure 3", "--device-memory", "1KB"}), 2,
                  "found no sets of 1 to 15 shards of these tables within 1000 B, expected more");
  expect_one_line(example.exported("x", {"--for", "least-sure", "--seed", "1"}), 2,
                  "--for: found 'least-sure', expected least-sure K");
  expect_one_line(example.exported("x", {}), 2, "found no --plan, expected --plan FILE");
  std::vector<std::string> chakra = example.words("x");
  chakra[4] = "chakra";
  chakra.insert(chakra.end(), {"--for", "least-sure 3"});
  expect_one_line(example.run(std::move(chakra)), 2, "--for: found with --format chakra");
  BOOST_TEST(!std::filesystem::exists(example.folder.file("x")));
}

BOOST_AUTO_TEST_SUITE_END()
