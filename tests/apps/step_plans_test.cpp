// --model: plans for whole training steps.
#include <algorithm>
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

namespace json = boost::json;
using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

using Words = std::vector<std::string>;

const std::string kDenseModelFile = "examples/dlrm_dcnv2_model.json";

Words and_more(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Outcome plan_of_eight(const Words& more) {
  return run_command(
      and_more({"plan", "--tables", source_file("examples/dlrm_dcnv2.json"), "--devices", "8",
                "--device-memory", "80GB", "--evaluations", "3000"},
               more));
}

double figure_of(const json::value& value) { return value.to_number<double>(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(step_plans)

BOOST_AUTO_TEST_CASE(files_say_what_the_step_is_of) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  const Outcome made = plan_of_eight({"--model", source_file(kDenseModelFile), "--output", plan});
  BOOST_TEST(made.exit_code == 0, made.err);
  BOOST_TEST(made.out.find("dense ms") != std::string::npos, made.out);
  BOOST_TEST(made.out.find("whole steps of dlrm_dcnv2_model.json on SIMULATED hardware") !=
             std::string::npos);
  const json::object file = parsed(slurp(plan));
  const json::object& provenance = file.at("provenance").as_object();
  BOOST_TEST(provenance.at("dense_model").as_string() == "dlrm_dcnv2_model.json");
  BOOST_TEST(provenance.at("dense_model_sha256").as_string().size() == 64U);
  double largest = 0;
  for (const json::value& device : file.at("per_device").as_array()) {
    BOOST_TEST(figure_of(device.at("dense_ms")) > 0);
    largest = std::max(largest, figure_of(device.at("total_ms")));
  }
  BOOST_TEST(largest == figure_of(file.at("cost_ms")), boost::test_tools::tolerance(1e-9));

  const Words simulate{"simulate", "--tables", source_file("examples/dlrm_dcnv2.json"), "--plan",
                       plan};
  const Outcome same =
      run_command(and_more(simulate, {"--model", source_file(kDenseModelFile), "--output", "-"}));
  BOOST_TEST(same.exit_code == 0, same.err);
  BOOST_TEST(same.err.empty(), same.err);
  BOOST_TEST(figure_of(parsed(same.out).at("cost_ms")) == figure_of(file.at("cost_ms")),
             boost::test_tools::tolerance(1e-9));
  const Outcome alone = run_command(and_more(simulate, {"--output", "-"}));
  BOOST_TEST(alone.exit_code == 0, alone.err);
  BOOST_TEST(alone.err.find("--model takes the model's file") != std::string::npos, alone.err);
  BOOST_TEST(figure_of(parsed(alone.out).at("cost_ms")) < figure_of(file.at("cost_ms")));
}

BOOST_AUTO_TEST_CASE(a_report_of_the_tables_alone_says_so) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  BOOST_TEST(plan_of_eight({"--model", source_file(kDenseModelFile), "--output", plan}).exit_code ==
             0);
  const Outcome page = run_command({"export", "--tables", source_file("examples/dlrm_dcnv2.json"),
                                    "--plan", plan, "--format", "html"});
  expect_one_line(page, 0,
                  "was made for whole steps of dlrm_dcnv2_model.json, here costs are of the tables "
                  "alone: simulate --model has those of steps");
  BOOST_TEST(page.out.find(" for the tables on the slowest device") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_search_takes_it) {
  const std::string tables = source_file("examples/dlrm_dcnv2.json");
  const Words model{"--model", source_file(kDenseModelFile)};
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  BOOST_TEST(plan_of_eight(and_more(model, {"--output", plan})).exit_code == 0);
  const std::vector<Words> commands{
      {"explain", "--tables", tables, "--plan", plan, "--most", "2"},
      {"replan", "--tables", tables, "--plan", plan, "--move-limit", "1GB", "--evaluations", "500"},
      {"sweep", "--tables", tables, "--devices", "4,8", "--device-memory", "80GB", "--evaluations",
       "500"},
      {"frontier", "--tables", tables, "--devices", "8", "--evaluations", "500"}};
  for (const Words& command : commands) {
    const Outcome outcome = run_command(and_more(command, model));
    BOOST_TEST(outcome.exit_code == 0, command.front() << ": " << outcome.err);
    BOOST_TEST(outcome.out.find("whole steps of dlrm_dcnv2_model.json") != std::string::npos,
               command.front() << ": " << outcome.out);
    BOOST_TEST(outcome.out.find("embedding part") == std::string::npos, outcome.out);
  }
}

BOOST_AUTO_TEST_CASE(what_has_no_steps_is_refused) {
  expect_one_line(plan_of_eight({"--profile", "H100-80G"}), 2, "--profile: found without --model");
  expect_one_line(
      plan_of_eight({"--model", source_file(kDenseModelFile), "--cost-model", "torchrec"}), 2,
      "--model: torchrec adds up all that a device does");
  expect_one_line(plan_of_eight({"--model", source_file("examples/dlrm_dcnv2.json")}), 2,
                  "dlrm_dcnv2.json");
  expect_one_line(plan_of_eight({"--model", source_file(kDenseModelFile), "--profile", "H100"}), 2,
                  "H100");
}

BOOST_AUTO_TEST_SUITE_END()
