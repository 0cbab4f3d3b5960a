// What flags of formats change, which change nothing, and how wrong ones end, through the command.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/apps/exported_plan.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

using neuroshard::test::example_tables;
using neuroshard::test::expect_one_line;
using neuroshard::test::export_as;
using neuroshard::test::Outcome;
using neuroshard::test::plan_in;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

/// A report without the command that it names.
std::string without_command(std::string page) {
  const std::size_t from = page.find("<code>");
  const std::size_t to = page.find("</code>");
  BOOST_REQUIRE(to != std::string::npos);
  return page.erase(from, to - from);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(format_flags)

BOOST_AUTO_TEST_CASE(a_plan_is_exported_for_its_own_batch_size) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  for (const std::string format : {"json", "torchrec", "html"}) {
    const Outcome other = export_as(plan, {"--format", format, "--batch-size", "4096"});
    expect_one_line(other, 2, "--batch-size: found 4096, expected the plan's 65536 (simulate");
    BOOST_TEST(other.out.empty());
    BOOST_TEST(export_as(plan, {"--format", format, "--batch-size", "65536"}).exit_code == 0);
  }
}

BOOST_AUTO_TEST_CASE(formats_can_be_listed) {
  const Outcome outcome = run_command({"export", "--format", "list"});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  for (const std::string name : {"torchrec", "hugectr", "hugectr-python", "csv", "json", "html"}) {
    BOOST_TEST(outcome.out.find("\n" + name + " ") != std::string::npos, name);
  }
}

BOOST_AUTO_TEST_CASE(flags_that_a_format_has_no_place_for_are_told) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  const auto notes = [&](std::vector<std::string> flags) { return export_as(plan, flags).err; };
  BOOST_TEST(notes({"--format", "csv", "--trainer-device", "cpu", "--devices-per-host", "2"}) ==
             "--trainer-device: csv has no place for it\n"
             "--devices-per-host: csv has no place for it\n");
  BOOST_TEST(notes({"--format", "hugectr", "--devices-per-host", "2"}).empty());
  const std::vector<std::string> page{"--format", "html", "--devices-per-host", "2"};
  BOOST_TEST(notes(page) ==
             "--devices-per-host: changes nothing, h200_sim has the hosts it was trained on\n");
  BOOST_TEST(notes({"--torchrec-module", "m", "--device-memory", "80GB"}) ==
             "--torchrec-module: json has no place for it\n");
  BOOST_TEST(run_command({"plan", "--tables", example_tables(), "--devices", "8", "--device-memory",
                          "80GB", "--algorithm", "size-greedy", "--trainer-device", "cpu"})
                 .err == "--trainer-device: json has no place for it\n");
}

BOOST_AUTO_TEST_CASE(no_plan_tells_the_folder_of_its_cost_model) {
  const TemporaryFolder folder;
  const std::string model = folder.file("mine.safetensors");
  std::filesystem::copy_file(source_file("models/h200_sim.safetensors"), model);
  for (const std::string format : {"json", "torchrec", "html"}) {
    const Outcome outcome = run_command(
        {"plan", "--tables", example_tables(), "--devices", "8", "--device-memory", "80GB",
         "--algorithm", "size-greedy", "--cost-model", model, "--format", format, "--output", "-"});
    BOOST_TEST(outcome.exit_code == 0, outcome.err);
    BOOST_TEST(outcome.out.find("mine.safetensors") != std::string::npos, format);
    BOOST_TEST(outcome.out.find(folder.path().string()) == std::string::npos, format);
  }
}

BOOST_AUTO_TEST_CASE(flags_that_change_nothing_have_to_be_right_all_the_same) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  // Nobody needs one for a format without costs, so nothing is opened that is called so.
  const Outcome unused = export_as(plan, {"--format", "csv", "--cost-model", "no-such"});
  BOOST_TEST(unused.exit_code == 0);
  BOOST_TEST(unused.err.find("--cost-model: csv has no place for it") != std::string::npos);
  const std::string message = "--torchrec-module: found 'a..b', expected a dotted name";
  expect_one_line(export_as(plan, {"--format", "csv", "--torchrec-module", "a..b"}), 2, message);
  expect_one_line(run_command({"plan", "--tables", example_tables(), "--devices", "8",
                               "--device-memory", "80GB", "--torchrec-module", "a..b"}),
                  2, message);
}

BOOST_AUTO_TEST_CASE(the_report_shows_the_limit_and_the_baselines) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  const std::string direct = folder.file("report.html");
  BOOST_TEST(run_command({"plan", "--tables", example_tables(), "--devices", "8", "--device-memory",
                          "80GB", "--algorithm", "size-lookup-greedy", "--format", "html",
                          "--output", direct})
                 .exit_code == 0);
  const std::string page = export_as(plan, {"--format", "html", "--device-memory", "80GB"}).out;
  BOOST_TEST(without_command(page) == without_command(slurp(direct)));
  BOOST_TEST(slurp(direct).find("dim-greedy") != std::string::npos);
  BOOST_TEST(slurp(direct).find("SIMULATED") != std::string::npos);
  BOOST_TEST(slurp(direct).find("limit 74.5 GiB") != std::string::npos);
  // The plan knows its memory; an older one does not.
  BOOST_TEST(without_command(export_as(plan, {"--format", "html"}).out) == without_command(page));
  std::string text = slurp(plan);
  const std::string memory = "  \"device_memory_bytes\": 80000000000,\n";
  text.erase(text.find(memory), memory.size());
  const Outcome without = export_as(folder.write("older.json", text), {"--format", "html"});
  BOOST_TEST(without.exit_code == 0);
  BOOST_TEST(without.out.find("dim-greedy") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(bad_requests_end_in_one_line) {
  const TemporaryFolder folder;
  const std::string plan = plan_in(folder);
  expect_one_line(run_command({"plan", "--tables", example_tables(), "--devices", "8",
                               "--device-memory", "80GB", "--format", "torchrec"}),
                  2, "--format: found 'torchrec' without --output");
  const std::string narrow =
      folder.write("narrow.json",
                   R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "user", "rows": 10, "dim": 6, "pooling_factor": 1}]})");
  // One byte of memory: with a search first, this would be exit code 3.
  expect_one_line(run_command({"plan", "--tables", narrow, "--devices", "2", "--device-memory",
                               "1B", "--format", "torchrec", "--output", "-"}),
                  2, "6 columns, TorchRec's kernels need a multiple of 4");
  expect_one_line(export_as(plan, {"--format", "torch"}), 2, "did you mean 'torchrec'?");
  const std::string uneven = folder.write("uneven.json", R"({
    "format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": 64, "shards": [
      {"table": 0, "rows": [0, 10], "columns": [0, 6], "device": 0},
      {"table": 0, "rows": [0, 10], "columns": [6, 8], "device": 1}]})");
  const std::string tables =
      folder.write("tables.json",
                   R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "user", "rows": 10, "dim": 8, "pooling_factor": 1}]})");
  for (const std::string format : {"torchrec", "hugectr"}) {
    const std::string output = folder.file("refused");
    expect_one_line(run_command({"export", "--tables", tables, "--plan", uneven, "--format", format,
                                 "--output", output}),
                    2, "table 0 'user': ");
    BOOST_TEST(!std::filesystem::exists(output));
  }
}

BOOST_AUTO_TEST_SUITE_END()
