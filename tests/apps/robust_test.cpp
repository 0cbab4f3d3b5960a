// `neuroshard plan --robust`: one plan for several cost models, with what each says of it.
#include <algorithm>
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/process.h"

namespace {

namespace json = boost::json;
using neuroshard::test::example_plan_arguments;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

Outcome plan(const std::vector<std::string>& more) {
  return run_command(example_plan_arguments(more));
}

double robust_cost_in(const std::string& file) {
  return json::parse(slurp(file)).at("cost_ms").to_number<double>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(robust)

BOOST_AUTO_TEST_CASE(all_costs_are_printed_and_written) {
  const TemporaryFolder folder;
  const std::string file = folder.file("plan.json");
  const Outcome outcome = plan({"--robust", "h200_sim,torchrec", "--output", file});
  BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.out.find("largest regret ") != std::string::npos, outcome.out);
  const json::value written = json::parse(slurp(file));
  const json::array& models = written.at("robust").as_array();
  BOOST_REQUIRE(models.size() == 2U);
  BOOST_TEST(models[0].at("cost_model").as_string() == "h200_sim");
  BOOST_TEST(models[1].at("cost_model").as_string() == "torchrec");
  BOOST_TEST(models[0].at("cost_ms").to_number<double>() == robust_cost_in(file));
  double largest = 0;
  for (const json::value& one : models) {
    const double cost = one.at("cost_ms").to_number<double>();
    const double regret = cost / one.at("best_ms").to_number<double>() - 1;
    BOOST_TEST(one.at("regret").to_number<double>() == regret, boost::test_tools::tolerance(1e-9));
    largest = std::max(largest, regret);
    // What each model says of the file.
    const std::string model(one.at("cost_model").as_string());
    const std::string again = folder.file("again.json");
    BOOST_REQUIRE(
        run_command({"simulate", "--tables", source_file("examples/dlrm_dcnv2.json"), "--plan",
                     file, "--device-memory", "80GB", "--cost-model", model, "--output", again})
            .exit_code == 0);
    BOOST_TEST(robust_cost_in(again) == cost, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(!json::parse(slurp(again)).as_object().contains("robust"));
  }
  // The plans for one model are farther off by the other.
  BOOST_TEST(largest < 0.12);
  BOOST_TEST(plan({"--robust", "h200_sim,torchrec", "--output", "-"}).out == slurp(file));
}

BOOST_AUTO_TEST_CASE(a_replan_takes_several_models_too) {
  const TemporaryFolder folder;
  const std::string now = folder.file("now.json");
  const std::string next = folder.file("next.json");
  BOOST_REQUIRE(plan({"--cost-model", "torchrec", "--output", now}).exit_code == 0);
  const auto replan = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"replan", "--plan", now, "--tables",
                                       source_file("examples/dlrm_dcnv2.json")};
    arguments.insert(arguments.end(), {"--robust", "h200_sim,torchrec", "--move-limit", "10GB"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  };
  const Outcome outcome = replan({"--evaluations", "3000", "--output", next});
  BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.out.find("largest regret ") != std::string::npos, outcome.out);
  BOOST_TEST(outcome.out.find("now.json has a largest regret of ") != std::string::npos);
  const json::value written = json::parse(slurp(next));
  BOOST_TEST(written.at("robust").as_array().size() == 2U);
  BOOST_TEST(written.at("provenance").at("cost_model").as_string() == "h200_sim");
  BOOST_TEST(written.at("provenance").at("algorithm").as_string() == "replan");
  BOOST_TEST(replan({"--evaluations", "3000", "--output", "-"}).out == slurp(next));
  BOOST_TEST(replan({"--cost-model", "torchrec"})
                 .err.ends_with("--robust: found with --cost-model, expected one of the two\n"));
  BOOST_TEST(replan({"--exchange", "auto"})
                 .err.ends_with("--exchange: found 'auto' with --robust, expected a format\n"));
}

/// Those that one of the models knows are no notes, unless all have to know them.
BOOST_AUTO_TEST_CASE(notes_name_the_model_that_does_not_know_a_flag) {
  const auto notes = [](const std::string& models, const std::vector<std::string>& more) {
    std::vector<std::string> flags{"--robust", models};
    flags.insert(flags.end(), more.begin(), more.end());
    std::vector<std::string> arguments = example_plan_arguments(flags);
    *(std::find(arguments.begin(), arguments.end(), "--evaluations") + 1) = "300";
    const Outcome outcome = run_command(arguments);
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    return outcome.err;
  };
  BOOST_TEST(notes("h200_sim,torchrec", {"--devices-per-host", "4"}).empty());
  BOOST_TEST(notes("h200_sim,torchrec", {"--bandwidths", "1555,900,25"}).empty());
  BOOST_TEST(notes("h200_sim,h100_sim", {"--hot-rows", "on"}).empty());
  for (const std::string models : {"h200_sim,torchrec", "torchrec,h200_sim"}) {
    BOOST_TEST(notes(models, {"--hot-rows", "on"}) ==
               "--hot-rows on: changes nothing, torchrec knows no hot rows\n");
    BOOST_TEST(notes(models, {"--row-splits", "any"}) ==
               "--row-splits any: torchrec knows no such row shards, as with --row-splits even\n");
    BOOST_TEST(notes(models, {"--host-memory", "100GB"}) ==
               "--host-memory: changes nothing, h200_sim knows no tables in host memory\n");
  }
}

BOOST_AUTO_TEST_CASE(bad_lists_are_refused_in_one_line) {
  const auto refusal = [](const std::vector<std::string>& more) {
    const Outcome outcome = plan(more);
    BOOST_TEST(outcome.exit_code == 2);
    BOOST_TEST(outcome.out.empty());
    BOOST_TEST(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1, outcome.err);
    return outcome.err;
  };
  BOOST_TEST(refusal({"--robust", "torchrec"}).find("expected at least 2") != std::string::npos);
  BOOST_TEST(refusal({"--robust", "torchrec,torchrec"}).find("twice") != std::string::npos);
  BOOST_TEST(refusal({"--robust", "torchrec,h300"}).find("h300") != std::string::npos);
  BOOST_TEST(
      refusal({"--robust", "torchrec,h200_sim", "--cost-model", "torchrec"}).find("--cost-model") !=
      std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
