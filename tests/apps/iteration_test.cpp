// `neuroshard iteration`: the time of a whole training step, of a plan given or made.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

namespace json = boost::json;
using neuroshard::test::example_plan_arguments;
using neuroshard::test::expect_one_line;
using neuroshard::test::keys_of;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

using Words = std::vector<std::string>;

/// MLPerf's model and tables.
Outcome iteration_of(const Words& more) {
  Words arguments{"iteration", "--tables", source_file("examples/dlrm_dcnv2.json"), "--model",
                  source_file("examples/dlrm_dcnv2_model.json")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

const Words kOnEight{"--devices",    "8",     "--device-memory", "60GB",
                     "--batch-size", "55296", "--profile",       "H100-80G+nvswitch"};

Words on_eight(const Words& more) {
  Words words = kOnEight;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

double number(const json::value& value) { return value.to_number<double>(); }

double sum_of(const json::value& object) {
  double sum = 0;
  for (const auto& member : object.as_object()) sum += number(member.value());
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(iteration)

BOOST_AUTO_TEST_CASE(the_file_takes_the_step_apart) {
  const Outcome outcome = iteration_of(on_eight({"--output", "-"}));
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.err.empty(), outcome.err);
  const json::object file = parsed(outcome.out);
  BOOST_TEST(file.at("format").as_string() == "neuroshard-iteration");
  BOOST_TEST(file.at("version").as_int64() == 1);
  const double step = number(file.at("iteration_ms"));
  BOOST_TEST(step > 1);
  BOOST_TEST(step < 10);
  BOOST_TEST(!file.at("iteration_error").at("basis").as_string().empty());
  BOOST_TEST(file.at("iteration_error").as_object().contains("share"));
  BOOST_TEST(sum_of(file.at("compute")) + sum_of(file.at("exposed")) == step,
             boost::test_tools::tolerance(1e-9));
  BOOST_TEST(number(file.at("sum_ms")) > step);
  for (const json::value& entry : file.at("timeline").as_array()) {
    BOOST_TEST(number(entry.at("end_ms")) >= number(entry.at("start_ms")));
    BOOST_TEST(entry.at("device").as_int64() == file.at("slowest_device").as_int64());
  }
  BOOST_TEST(iteration_of(on_eight({"--output", "-"})).out == outcome.out);
}

BOOST_AUTO_TEST_CASE(people_see_phases_and_where_figures_come_from) {
  const Outcome outcome = iteration_of(kOnEight);
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  for (const std::string expected :
       {"H100-80G, nvswitch", "lookup, backward and update", "all-reduce of gradients",
        "exposed ms", "critical path: ", "samples a second", "error: ", "without streams"}) {
    BOOST_TEST(outcome.out.find(expected) != std::string::npos, expected);
  }
}

BOOST_AUTO_TEST_CASE(a_plan_is_costed_as_it_is) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  BOOST_TEST(run_command(example_plan_arguments({"--output", plan})).exit_code == 0);
  const Outcome outcome = iteration_of({"--plan", plan, "--profile", "H200-141G", "--output", "-"});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  const json::object file = parsed(outcome.out);
  BOOST_TEST(file.at("plan").as_string() == "given");
  BOOST_TEST(file.at("batch_size").as_int64() == 65536);
  BOOST_TEST(file.at("plan_sha256").as_string().size() == 64U);
}

BOOST_AUTO_TEST_CASE(dot_products_of_one_vector_have_a_step) {
  const TemporaryFolder folder;
  const std::string tables = folder.write("t.json", R"({"format": "neuroshard-tables", "version": 1,
      "batch_size": 4096, "tables": [{"name": "t0", "rows": 1411848, "dim": 64, "pooling_factor": 34.7,
                                      "zipf_alpha": 1.35}]})");
  const std::string model = folder.write("m.json", R"({"format": "neuroshard-model", "version": 1,
      "dense_features": 0, "bottom": [], "interaction": {"kind": "dot"}, "top": [1024, 64, 1],
      "precision": "bf16", "optimizer": "adam", "cuda_graph": true})");
  const std::string plan = folder.file("plan.json");
  const Words both{"--tables", tables, "--model", model};
  const auto run = [&](Words words) {
    words.insert(words.end(), both.begin(), both.end());
    const Outcome outcome = run_command(words);
    BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
    return outcome.out;
  };
  run({"plan", "--devices", "1", "--device-memory", "1GB", "--cost-model", "a100_sim",
       "--evaluations", "10", "--output", plan});
  const json::object file =
      parsed(run({"iteration", "--plan", plan, "--profile", "A100-80G", "--output", "-"}));
  BOOST_TEST(number(file.at("iteration_ms")) == number(parsed(slurp(plan)).at("cost_ms")),
             boost::test_tools::tolerance(0.03));
}

BOOST_AUTO_TEST_CASE(more_hosts_are_simulated_as_hosts) {
  const auto step_of = [](const Words& hosts) {
    Words words{"--devices", "16", "--device-memory", "60GB", "--profile", "H100-80G+cluster",
                "--output",  "-"};
    words.insert(words.end(), hosts.begin(), hosts.end());
    const Outcome outcome = iteration_of(words);
    BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
    return number(parsed(outcome.out).at("iteration_ms"));
  };
  BOOST_TEST(step_of({"--devices-per-host", "4"}) > step_of({"--devices-per-host", "16"}));
}

BOOST_AUTO_TEST_CASE(a_trace_opens_in_perfetto) {
  const TemporaryFolder folder;
  const std::string trace = folder.file("trace.json");
  const Outcome outcome = iteration_of(on_eight({"--timeline", trace}));
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  const json::object file = parsed(slurp(trace));
  BOOST_TEST(file.at("traceEvents").as_array().size() > 8U * 20U);
}

BOOST_AUTO_TEST_CASE(bad_input_is_one_line) {
  const TemporaryFolder folder;
  expect_one_line(iteration_of({"--profile", "H100-80G"}), 2, "no --plan and no --devices");
  expect_one_line(iteration_of({"--profile", "H100-80G", "--devices", "8"}), 2,
                  "without --device-memory");
  expect_one_line(iteration_of(on_eight({"--plan", folder.write("p.json", "{}")})), 2,
                  "--device-memory: found with --plan");
  expect_one_line(iteration_of(on_eight({"--output", "-", "--timeline", "-"})), 2, "--timeline");
  expect_one_line(iteration_of({"--profile", "H300", "--devices", "8", "--device-memory", "1GB"}),
                  2, "H300");
  expect_one_line(
      iteration_of({"--profile", "H100-80G", "--devices", "8", "--device-memory", "1GB"}), 3, "");
  const std::string model = folder.write("m.json", R"({"format": "neuroshard-model"})");
  expect_one_line(
      run_command({"iteration", "--tables", source_file("examples/dlrm_dcnv2.json"), "--model",
                   model, "--profile", "H100-80G", "--devices", "8", "--device-memory", "60GB"}),
      2, "m.json: ");
}

BOOST_AUTO_TEST_SUITE_END()
