// Plans that are wrong: what check tells of them, and how other commands refuse them.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/exported_plan.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/apps/unknown_hardware.h"

namespace {

using neuroshard::test::example_tables;
using neuroshard::test::expect_one_line;
using neuroshard::test::export_as;
using neuroshard::test::Outcome;
using neuroshard::test::plan_in;
using neuroshard::test::run_command;
using neuroshard::test::simulated;
using neuroshard::test::slurp;
using neuroshard::test::TemporaryFolder;
using neuroshard::test::unknown_hardware;

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_faults)

BOOST_AUTO_TEST_CASE(check_tells_of_devices_and_tables_that_there_are_none_of) {
  const TemporaryFolder folder;
  std::string text = slurp(plan_in(folder));
  const auto change = [&](const std::string& from, const std::string& to) {
    BOOST_REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  change("{\"table\": 3,", "{\"table\": 99,");
  const std::string table = "{\"table\": 7,";
  const std::size_t device = text.find("\"device\": ", text.find(table)) + 10;
  text.replace(device, 1, "8");
  const std::string bad = folder.write("bad.json", text);
  const Outcome outcome =
      run_command({"check", "--tables", example_tables(), "--plan", bad, "--output", "-"});
  expect_one_line(outcome, 2, "3 faults, expected none");
  for (const std::string fault :
       {"shards[7]: device 8, expected 0 to 7, or 'all'", "shards[3]: table 99, expected 0 to 25",
        "table 3 'cat_3': shards cover 0 of its"}) {
    BOOST_TEST(outcome.out.find("\"text\": \"" + fault) != std::string::npos, outcome.out);
  }
}

BOOST_AUTO_TEST_CASE(check_tells_faults_on_stdout_and_by_its_exit_code) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  const Outcome full = run_command(
      {"check", "--tables", example_tables(), "--plan", plan, "--device-memory", "20GB"});
  expect_one_line(full, 3, "faults, expected none");
  BOOST_TEST(full.out.find("devices have 18.6 GiB") != std::string::npos);

  std::string torn = export_as(plan, {"--format", "torchrec"}).out;
  torn.replace(torn.find("\"cat_1\""), 7, "\"dog_1\"");
  const std::string bad = folder.write("bad.json", torn);
  const Outcome outcome =
      run_command({"check", "--tables", example_tables(), "--plan", bad, "--output", "-"});
  expect_one_line(outcome, 2, "2 faults, expected none");
  BOOST_TEST(outcome.out.find("\"kind\": \"plan\", \"text\": \"table 'dog_1' is not among") !=
             std::string::npos);
  expect_one_line(simulated(bad), 2, bad + ": table 'dog_1' is not among the tables given");
}

BOOST_AUTO_TEST_CASE(check_tells_of_tables_of_other_names) {
  const TemporaryFolder folder;
  std::string text = slurp(plan_in(folder));
  text.replace(text.find("\"cat_1\""), 7, "\"dog_1\"");
  const std::string bad = folder.write("bad.json", text);
  const Outcome outcome = run_command({"check", "--tables", example_tables(), "--plan", bad});
  expect_one_line({outcome.exit_code, {}, outcome.err}, 2, "2 faults, expected none");
  BOOST_TEST(outcome.out.find(bad + ": table 'dog_1' is not among the tables given\n") !=
                 std::string::npos,
             outcome.out);
  // It may only have been renamed: others say so.
  const Outcome costed = simulated(bad);
  BOOST_TEST(costed.exit_code == 0);
  BOOST_TEST(costed.err.find(bad + ": has a table 'dog_1', which is not among the tables given: "
                                   "its tables are taken in their order\n") != std::string::npos,
             costed.err);
}

BOOST_AUTO_TEST_CASE(a_plan_that_no_cost_model_describes_is_named) {
  const TemporaryFolder folder;
  const std::string everywhere = folder.write("everywhere.json", R"({
    "format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": 65536, "shards": [
      {"table": 0, "rows": [0, 10], "columns": [0, 8], "device": "all"}]})");
  const std::string tables =
      folder.write("tables.json",
                   R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "user", "rows": 10, "dim": 8, "pooling_factor": 1}]})");
  const std::vector<std::string> files{"--tables", tables, "--plan", everywhere};
  const auto with = [&files](std::vector<std::string> arguments, std::vector<std::string> more) {
    arguments.insert(arguments.end(), files.begin(), files.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  };
  const std::string expected =
      everywhere +
      ": shards[0]: table 0 is on every device: networks have a cost of data-parallel "
      "tables where ";
  const std::string model = folder.write("own.safetensors", unknown_hardware(2));
  expect_one_line(with({"simulate"}, {"--device-memory", "80GB", "--cost-model", model}), 2,
                  expected);
  expect_one_line(with({"export"}, {"--format", "html", "--cost-model", model}), 2, expected);
  BOOST_TEST(with({"export"}, {"--format", "torchrec"}).exit_code == 0);
  for (const std::string known : {"torchrec", "h200_sim"}) {
    const Outcome costed = with({"simulate"}, {"--device-memory", "80GB", "--cost-model", known});
    BOOST_TEST(costed.exit_code == 0, costed.err);
  }
}

BOOST_AUTO_TEST_SUITE_END()
