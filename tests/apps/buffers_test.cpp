// --buffers: what a step keeps beside the tables counts from the plan to whatever reads it.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

BOOST_AUTO_TEST_SUITE(buffers)

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

const std::string kTables = source_file("examples/dlrm_dcnv2.json");

using Arguments = std::vector<std::string>;

Outcome with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

Arguments plan_arguments(const std::string& memory, const std::string& output) {
  return {"plan", "--tables",      kTables, "--devices", "8",   "--device-memory",
          memory, "--evaluations", "2000",  "--output",  output};
}

std::int64_t memory_in(const boost::json::object& plan) {
  std::int64_t bytes = 0;
  for (const boost::json::value& device : plan.at("per_device").as_array()) {
    bytes += device.at("memory_bytes").as_int64();
  }
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_plan_remembers_what_it_counts) {
  const TemporaryFolder folder;
  const std::string file = folder.file("plan.json");
  const Outcome made = with(plan_arguments("80GB", file), {"--buffers", "train_base"});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  BOOST_TEST(made.out.find("GiB with buffers, batch 65,536") != std::string::npos, made.out);
  const boost::json::object plan = parsed(slurp(file));
  BOOST_TEST(plan.at("buffers").as_string() == "train_base");

  const Arguments simulate{"simulate",        "--tables", kTables,    "--plan", file,
                           "--device-memory", "80GB",     "--output", "-"};
  const boost::json::object again = parsed(with(simulate, {}).out);
  BOOST_TEST((again.at("per_device") == plan.at("per_device")));
  BOOST_TEST(again.at("buffers").as_string() == "train_base");
  const boost::json::object plain = parsed(with(simulate, {"--buffers", "off"}).out);
  BOOST_TEST(!plain.contains("buffers"));
  // 214 lookups of 8 bytes a sample, and at least one output of 128 fp32 for each of 26 tables.
  BOOST_TEST(memory_in(plan) - memory_in(plain) >= 65536LL * (214 * 8 + 26 * 128 * 4));

  const Outcome page = run_command({"export", "--tables", kTables, "--plan", file, "--format",
                                    "html", "--output", folder.file("plan.html")});
  BOOST_TEST(page.exit_code == 0, page.err);
  BOOST_TEST(slurp(folder.file("plan.html")).find("GiB with buffers") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(devices_have_to_have_the_memory_for_them) {
  const TemporaryFolder folder;
  const std::string file = folder.file("plan.json");
  // 97.4 GiB of tables, a little more with buffers.
  const Outcome fits = with(plan_arguments("12.25GiB", file), {});
  BOOST_REQUIRE_MESSAGE(fits.exit_code == 0, fits.err);
  expect_one_line(with(plan_arguments("12.25GiB", file), {"--buffers", "train_base"}), 3,
                  "of memory per device");
  const Arguments check{"check", "--tables",        kTables,   "--plan",
                        file,    "--device-memory", "12.25GiB"};
  BOOST_TEST(with(check, {}).exit_code == 0);
  const Outcome beyond = with(check, {"--buffers", "train_base"});
  BOOST_TEST(beyond.exit_code == 3);
  // Which one depends on the plan.
  BOOST_TEST(std::regex_search(beyond.out, std::regex("device \\d holds ")), beyond.out);
  expect_one_line(run_command({"simulate", "--tables", kTables, "--plan", file, "--device-memory",
                               "12.25GiB", "--buffers", "train_base"}),
                  3, "this plan needs at least");
}

BOOST_AUTO_TEST_CASE(replan_keeps_what_the_plan_counts) {
  const TemporaryFolder folder;
  const std::string now = folder.file("now.json");
  const std::string next = folder.file("next.json");
  Arguments arguments = plan_arguments("14GB", now);
  arguments.insert(arguments.end(), {"--algorithm", "neuroshard", "--buffers", "train_base"});
  BOOST_REQUIRE(run_command(arguments).exit_code == 0);
  const Outcome replanned =
      run_command({"replan", "--tables", kTables, "--plan", now, "--device-memory", "14GB",
                   "--move-limit", "10GB", "--evaluations", "2000", "--output", next});
  BOOST_REQUIRE_MESSAGE(replanned.exit_code == 0, replanned.err);
  // What moves is of the tables: nobody moves buffers.
  BOOST_TEST(replanned.out.find(" of 97.4 GiB, at most ") != std::string::npos, replanned.out);
  BOOST_TEST(parsed(slurp(next)).at("buffers").as_string() == "train_base");
  BOOST_TEST(run_command({"check", "--tables", kTables, "--plan", next, "--device-memory", "14GB"})
                 .exit_code == 0);
}

BOOST_AUTO_TEST_CASE(other_commands_that_search_count_them) {
  const TemporaryFolder folder;
  const Arguments sweep{"sweep",    "--tables",      kTables, "--devices", "8,9", "--device-memory",
                        "12.25GiB", "--evaluations", "500",   "--output",  "-"};
  const auto feasible = [](const Outcome& outcome) {
    std::vector<bool> found;
    const boost::json::object report = parsed(outcome.out);
    for (const boost::json::value& row : report.at("clusters").as_array()) {
      found.push_back(row.at("feasible").as_bool());
    }
    return found;
  };
  BOOST_TEST((feasible(with(sweep, {})) == std::vector<bool>{true, true}));
  BOOST_TEST(
      (feasible(with(sweep, {"--buffers", "train_base"})) == std::vector<bool>{false, true}));

  const std::string pool = neuroshard::test::generated_pool(folder);
  const std::string tasks = folder.write("tasks.txt", "0,1,2,3 64,64,64,64\n");
  const auto compared = [&](const std::string& word) {
    const Outcome outcome = run_command({"compare", "--tables", pool, "--tasks", tasks, "--devices",
                                         "2", "--device-memory", "80GB", "--algorithms",
                                         "size-greedy", "--buffers", word, "--output", "-"});
    const boost::json::object report = parsed(outcome.out);
    return memory_in(report.at("tasks").at(0).at("results").at("size-greedy").as_object());
  };
  BOOST_TEST(compared("train_sparse_dist") > compared("off"));
}

BOOST_AUTO_TEST_CASE(what_is_none_of_them_is_refused) {
  const TemporaryFolder folder;
  expect_one_line(with(plan_arguments("80GB", folder.file("p.json")), {"--buffers", "some"}), 2,
                  "--buffers: found 'some', expected one of off, train_base");
  const std::string plan =
      folder.write("plan.json",
                   R"({"format": "neuroshard-plan", "version": 1, "devices": 1, "batch_size": 1,
          "buffers": "some", "shards": []})");
  expect_one_line(run_command({"check", "--tables", kTables, "--plan", plan}), 2,
                  "buffers: found 'some', expected 'off', 'train_base'");
}

BOOST_AUTO_TEST_SUITE_END()
