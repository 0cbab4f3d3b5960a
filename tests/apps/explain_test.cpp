// `neuroshard explain`: what a plan's tables take, for people and for programs.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

BOOST_AUTO_TEST_SUITE(explain)

namespace {

using neuroshard::test::contains;
using neuroshard::test::expect_one_line;
using neuroshard::test::Keys;
using neuroshard::test::keys_of;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

const std::string kTables = source_file("examples/dlrm_dcnv2.json");

/// A plan of the example by the algorithm, in the folder.
std::string example_plan(const TemporaryFolder& folder, const std::string& algorithm,
                         const std::string& data_parallel = "off") {
  const std::string plan = folder.file(algorithm + ".json");
  const Outcome made = run_command(
      {"plan", "--tables", kTables, "--devices", "8", "--device-memory", "80GB", "--algorithm",
       algorithm, "--evaluations", neuroshard::test::unless_sanitized("100000", "10000"),
       "--row-splits", "even", "--data-parallel", data_parallel, "--output", plan});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  return plan;
}

Outcome explained(const std::string& plan, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"explain", "--tables",        kTables, "--plan",
                                     plan,      "--device-memory", "80GB"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

}  // namespace

BOOST_AUTO_TEST_CASE(people_are_told_each_table_and_whether_one_change_would_do_better) {
  const TemporaryFolder folder;
  const Outcome good = explained(example_plan(folder, "refine", "on"));
  BOOST_TEST(good.exit_code == 0, good.err);
  BOOST_TEST(contains(good.out, "SIMULATED"));
  BOOST_TEST(contains(good.out, "cat_20  rows over devices 0 to 7 "), good.out);
  BOOST_TEST(contains(good.out, "no single change that was tried makes the plan cheaper"));
  BOOST_TEST(contains(good.out, "the 20 dearest of 26 tables"));
  const Outcome poor = explained(example_plan(folder, "random"), {"--most", "26"});
  BOOST_TEST(contains(poor.out, "may find such plans"), poor.out);
  BOOST_TEST(!contains(poor.out, "dearest of"));
}

BOOST_AUTO_TEST_CASE(programs_get_shards_and_costs) {
  const TemporaryFolder folder;
  const std::string plan = example_plan(folder, "neuroshard");
  const std::string file = folder.file("explained.json");
  const Outcome shown = explained(plan, {"--table", "cat_3", "--table", "20", "--output", file});
  BOOST_REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  const boost::json::object report = parsed(slurp(file));
  BOOST_TEST((keys_of(report) == Keys{"cost_model", "hardware", "cost_provenance", "batch_size",
                                      "devices", "cost_ms", "cost_error", "tables"}));
  BOOST_TEST(report.at("cost_ms") == parsed(slurp(plan)).at("cost_ms"));
  const boost::json::array& tables = report.at("tables").as_array();
  BOOST_REQUIRE(tables.size() == 2U);
  BOOST_TEST((keys_of(tables[0]) == Keys{"table", "name", "memory_bytes", "alone_ms", "adds_ms",
                                         "shards", "considered", "next_best"}));
  BOOST_TEST(tables[0].at("table") == 3);
  BOOST_TEST(tables[1].at("name").as_string() == "cat_20");
  BOOST_TEST((keys_of(tables[0].at("next_best")) == Keys{"cost_ms", "shards"}));
  BOOST_TEST((keys_of(tables[0].at("shards").at(0)) == Keys{"rows", "columns", "device"}));
  BOOST_TEST(explained(plan, {"--table", "cat_3", "--table", "20", "--output", "-"}).out ==
             slurp(file));
}

BOOST_AUTO_TEST_CASE(what_is_not_there_or_does_not_fit_is_told_in_a_line) {
  const TemporaryFolder folder;
  const std::string plan = example_plan(folder, "size-greedy");
  expect_one_line(explained(plan, {"--table", "dog"}), 2,
                  "--table: found 'dog', expected the name of a table or a number from 0 to 25");
  expect_one_line(
      run_command({"explain", "--tables", kTables, "--plan", plan, "--device-memory", "1GB"}), 3,
      "this plan needs at least");
  expect_one_line(explained(plan, {"--most", "0"}), 2, "--most");
}

BOOST_AUTO_TEST_SUITE_END()
