// Plans near one that runs, through the real command.
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <vector>

#include "engine/core/decimal.h"
#include "engine/core/held_cells.h"
#include "io/plans/plan_file.h"
#include "io/tables/tables.h"
#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

using neuroshard::moved_bytes;
using neuroshard::Plan;
using neuroshard::Workload;
using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

const std::string kRunningTables = source_file("examples/dlrm_dcnv2.json");
constexpr std::int64_t kLimit = 16'000'000'000;

/// A plan of the example's tables on 8 devices that leaves much to be gained.
std::string running_plan_in(const TemporaryFolder& folder) {
  const std::string plan = folder.file("now.json");
  const Outcome made =
      run_command({"plan", "--tables", kRunningTables, "--devices", "8", "--device-memory", "80GB",
                   "--algorithm", "size-greedy", "--output", plan});
  BOOST_TEST_REQUIRE(made.exit_code == 0, made.err);
  return plan;
}

/// The same plan in TorchRec's file.
std::string torchrec_plan_in(const TemporaryFolder& folder, const std::string& plan) {
  const std::string torchrec = folder.file("torchrec.json");
  const Outcome made = run_command({"export", "--tables", kRunningTables, "--plan", plan,
                                    "--format", "torchrec", "--output", torchrec});
  BOOST_TEST_REQUIRE(made.exit_code == 0, made.err);
  return torchrec;
}

Outcome replanned(const std::string& plan, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments{"replan", "--tables",        kRunningTables, "--plan",
                                     plan,     "--device-memory", "80GB"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return run_command(arguments);
}

double cost_of_plan(const std::string& plan) {
  return parsed(slurp(plan)).at("cost_ms").as_double();
}

Plan plan_of(const std::string& path) {
  const auto document = neuroshard::io::parse_plan(slurp(path), path);
  BOOST_TEST_REQUIRE(document.ok());
  return document->plan;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(replan)

BOOST_AUTO_TEST_CASE(the_plan_is_cheaper_within_the_limit_and_says_what_moves) {
  const TemporaryFolder folder;
  const std::string now = running_plan_in(folder);
  const std::string next = folder.file("next.json");
  const Outcome made =
      replanned(now, {"--move-limit", "16GB", "--evaluations", "5000", "--output", next});
  BOOST_TEST(made.exit_code == 0);
  BOOST_TEST(made.err.empty(), made.err);
  BOOST_TEST(cost_of_plan(next) < 0.85 * cost_of_plan(now));
  const auto tables = neuroshard::io::read_tables(kRunningTables);
  BOOST_TEST_REQUIRE(tables.ok());
  const Workload workload{tables->tables};
  const std::int64_t moved = moved_bytes(workload, plan_of(now), plan_of(next));
  BOOST_TEST(moved > 0);
  BOOST_TEST(moved <= kLimit);
  const double cost = parsed(slurp(now)).at("cost_ms").as_double();
  BOOST_TEST(made.out.find(now + " costs " + neuroshard::fixed_decimals(cost, 3) +
                           " ms: this plan is ") != std::string::npos,
             made.out);
  BOOST_TEST(made.out.find(" of 97.4 GiB, at most 14.9 GiB, in ") != std::string::npos);
  const Outcome checked = run_command({"check", "--tables", kRunningTables, "--plan", next,
                                       "--device-memory", "80GB", "--target", "torchrec"});
  BOOST_TEST(checked.exit_code == 0, checked.out);
}

BOOST_AUTO_TEST_CASE(tables_get_row_shards_that_the_cost_model_and_the_trainer_know) {
  const TemporaryFolder folder;
  const std::string now = running_plan_in(folder);
  const auto row_shards = [&](const std::vector<std::string>& flags) {
    const std::string next = folder.file("next.json");
    std::vector<std::string> all{"--move-limit", "100GB",    "--evaluations",
                                 "20000",        "--output", next};
    all.insert(all.end(), flags.begin(), flags.end());
    const Outcome made = replanned(now, all);
    BOOST_TEST_REQUIRE(made.exit_code == 0, made.err);
    BOOST_TEST(cost_of_plan(next) < cost_of_plan(now));
    std::map<std::int32_t, int> shards;  // by table
    for (const neuroshard::Shard& shard : plan_of(next).shards) {
      shards[shard.table] += shard.row_begin > 0;
    }
    std::erase_if(shards, [](const auto& table) { return table.second == 0; });
    return shards;
  };
  BOOST_TEST(!row_shards({}).empty());
  BOOST_TEST(row_shards({"--row-splits", "off"}).empty());
  const auto even = row_shards({"--cost-model", "torchrec", "--row-splits", "even"});
  BOOST_TEST(!even.empty());
  for (const auto& [table, further] : even) BOOST_TEST(further == 7);
}

BOOST_AUTO_TEST_CASE(a_limit_of_nothing_moves_nothing) {
  const TemporaryFolder folder;
  const std::string now = running_plan_in(folder);
  for (const std::string limit : {"0", "0B"}) {
    const Outcome made = replanned(now, {"--move-limit", limit, "--evaluations", "500"});
    BOOST_TEST(made.exit_code == 0, made.err);
    BOOST_TEST(
        made.out.find("moves 0 B of 97.4 GiB, at most 0 B, in 0 shards\n") != std::string::npos,
        made.out);
  }
}

BOOST_AUTO_TEST_CASE(a_budget_gives_the_same_file_on_any_number_of_threads) {
  const TemporaryFolder folder;
  const std::string now = running_plan_in(folder);
  std::vector<std::string> plans;
  for (const std::string threads : {"1", "3"}) {
    const Outcome made = replanned(now, {"--move-limit", "1GB", "--evaluations", "5000",
                                         "--threads", threads, "--output", "-"});
    BOOST_TEST(made.exit_code == 0);
    plans.push_back(made.out);
  }
  BOOST_TEST(plans[0] == plans[1]);
  BOOST_TEST(parsed(plans[0]).at("provenance").at("algorithm") == "replan");
}

BOOST_AUTO_TEST_CASE(a_torchrec_plan_stays_one_with_its_module) {
  const TemporaryFolder folder;
  const std::string now = running_plan_in(folder);
  const std::string torchrec = folder.file("torchrec.json");
  const std::string next = folder.file("next.json");
  BOOST_TEST_REQUIRE(
      run_command({"export", "--tables", kRunningTables, "--plan", now, "--format", "torchrec",
                   "--torchrec-module", "arch.ebc", "--output", torchrec})
          .exit_code == 0);
  const Outcome made = replanned(torchrec, {"--move-limit", "4GB", "--evaluations", "2000",
                                            "--format", "torchrec", "--output", next});
  BOOST_TEST(made.exit_code == 0, made.err);
  BOOST_TEST(parsed(slurp(next)).at("plan").as_object().contains("arch.ebc"));
}

BOOST_AUTO_TEST_CASE(hugectr_plans_stay_within_what_its_lists_can_say) {
  const TemporaryFolder folder;
  const std::string now = folder.write(
      "now.json",
      R"({"format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": 65536, "shards": [
          {"table": 0, "rows": [0, 100000], "columns": [0, 64], "device": 0},
          {"table": 0, "rows": [0, 100000], "columns": [64, 128], "device": 1},
          {"table": 1, "rows": [0, 100000], "columns": [0, 128], "device": 0},
          {"table": 2, "rows": [0, 1000], "columns": [0, 64], "device": 0}]})");
  const std::string tables =
      folder.write("tables.json",
                   R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "a", "rows": 100000, "dim": 128, "pooling_factor": 10},
          {"name": "b", "rows": 100000, "dim": 128, "pooling_factor": 40},
          {"name": "c", "rows": 1000, "dim": 64, "pooling_factor": 20}]})");
  const std::string next = folder.file("next.json");
  const Outcome made = run_command({"replan", "--tables", tables, "--plan", now, "--device-memory",
                                    "1GB", "--move-limit", "1GB", "--evaluations", "2000",
                                    "--format", "hugectr", "--output", next});
  BOOST_TEST(made.exit_code == 0, made.err);
  // Only c, whole: splitting b would level the two devices better.
  BOOST_TEST(made.out.find("in 1 shard\n") != std::string::npos, made.out);
}

BOOST_AUTO_TEST_CASE(blocks_that_a_format_joins_are_joined_before_anything_moves) {
  const TemporaryFolder folder;
  const std::string tables =
      folder.write("tables.json",
                   R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "a", "rows": 1000, "dim": 64, "pooling_factor": 9},
          {"name": "b", "rows": 1000, "dim": 64, "pooling_factor": 9}]})");
  // Of a, device 0 has columns of two widths around those of device 1.
  const std::string now = folder.write(
      "now.json",
      R"({"format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": 65536, "shards": [
          {"table": 0, "rows": [0, 1000], "columns": [0, 16], "device": 0},
          {"table": 0, "rows": [0, 1000], "columns": [16, 32], "device": 1},
          {"table": 0, "rows": [0, 1000], "columns": [32, 64], "device": 0},
          {"table": 1, "rows": [0, 1000], "columns": [0, 64], "device": 1}]})");
  const Outcome made = run_command({"replan", "--tables", tables, "--plan", now, "--device-memory",
                                    "1GB", "--move-limit", "1", "--evaluations", "200", "--format",
                                    "torchrec", "--output", folder.file("next.json")});
  BOOST_TEST(made.exit_code == 0);
  expect_one_line({0, {}, made.err}, 0, "are on one device joined: that is the plan that runs");
  BOOST_TEST(made.out.find("moves 0 B of ") != std::string::npos, made.out);
}

BOOST_AUTO_TEST_CASE(the_batch_is_that_of_the_tables_as_they_are_now) {
  const TemporaryFolder folder;
  const std::string now = running_plan_in(folder);
  const std::string next = folder.file("next.json");
  std::string tables = slurp(kRunningTables);
  const std::string batch = "\"batch_size\": 65536";
  BOOST_TEST_REQUIRE(tables.find(batch) != std::string::npos);
  tables.replace(tables.find(batch), batch.size(), "\"batch_size\": 32768");
  const std::vector<std::string> arguments{"replan",
                                           "--tables",
                                           folder.write("new.json", tables),
                                           "--plan",
                                           now,
                                           "--device-memory",
                                           "80GB",
                                           "--move-limit",
                                           "1GB",
                                           "--evaluations",
                                           "500",
                                           "--output",
                                           next};
  const Outcome made = run_command(arguments);
  expect_one_line(made, 0, "was made for a batch of 65,536, the tables' is 32,768");
  BOOST_TEST(parsed(slurp(next)).at("batch_size").as_int64() == 32768);
}

BOOST_AUTO_TEST_CASE(tables_that_have_grown_are_replanned_with_the_rows_of_now) {
  const TemporaryFolder folder;
  const std::string native = running_plan_in(folder);
  const std::string torchrec = torchrec_plan_in(folder, native);
  std::string tables = slurp(kRunningTables);
  const std::string before = "\"name\": \"cat_1\", \"rows\": ";
  const std::size_t place = tables.find(before);
  BOOST_TEST_REQUIRE(place != std::string::npos);
  tables.insert(place + before.size(), "1");  // 10^n rows more
  const std::string grown = folder.write("grown.json", tables);
  for (const std::string& now : {native, torchrec}) {
    const std::string next = folder.file("next.json");
    const std::vector<std::string> plan_and_tables{"--tables",        grown, "--plan", now,
                                                   "--device-memory", "80GB"};
    std::vector<std::string> arguments{"replan"};
    arguments.insert(arguments.end(), plan_and_tables.begin(), plan_and_tables.end());
    arguments.insert(arguments.end(), {"--move-limit", "1GB", "--evaluations", "500", "--format",
                                       "json", "--output", next});
    const Outcome made = run_command(arguments);
    expect_one_line({made.exit_code, {}, made.err}, 0,
                    "table 1 'cat_1' has another number of rows than in the plan");
    const Outcome checked =
        run_command({"check", "--tables", grown, "--plan", next, "--device-memory", "80GB"});
    BOOST_TEST(checked.exit_code == 0, checked.err);
    // Others take plans as they are.
    arguments = {"simulate"};
    arguments.insert(arguments.end(), plan_and_tables.begin(), plan_and_tables.end());
    BOOST_TEST(run_command(arguments).exit_code == 2);
  }
}

BOOST_AUTO_TEST_CASE(new_tables_are_placed_and_count_as_nothing_that_moves) {
  const TemporaryFolder folder;
  const std::string native = running_plan_in(folder);
  const std::string torchrec = torchrec_plan_in(folder, native);
  std::string tables = slurp(kRunningTables);
  const std::size_t end = tables.rfind(']');
  tables.insert(tables.rfind('}', end) + 1,
                R"(, {"name": "new", "rows": 5000000, "dim": 128, "pooling_factor": 2})");
  const std::string more = folder.write("more.json", tables);
  const std::string next = folder.file("next.json");
  for (const std::string& now : {native, torchrec}) {
    const Outcome made = run_command({"replan", "--tables", more, "--plan", now, "--device-memory",
                                      "80GB", "--move-limit", "1B", "--evaluations", "500",
                                      "--format", "json", "--output", next});
    expect_one_line({made.exit_code, {}, made.err}, 0,
                    "table 26 'new' is not in the plan: it is new");
    BOOST_TEST(made.out.find(" lacks 1 table that this plan has\n") != std::string::npos, made.out);
    BOOST_TEST(made.out.find("moves 0 B of ") != std::string::npos, made.out);
    const Outcome checked =
        run_command({"check", "--tables", more, "--plan", next, "--device-memory", "80GB"});
    BOOST_TEST(checked.exit_code == 0, checked.err);
  }
}

BOOST_AUTO_TEST_CASE(a_plan_for_more_memory_is_made_to_fit_within_the_limit) {
  const TemporaryFolder folder;
  const std::string now = running_plan_in(folder);
  const std::string next = folder.file("next.json");
  const auto made = [&](const std::string& limit) {
    return run_command({"replan", "--tables", kRunningTables, "--plan", now, "--device-memory",
                        "17.5GiB", "--move-limit", limit, "--evaluations", "500", "--output",
                        next});
  };
  const Outcome fits = made("20GB");
  BOOST_REQUIRE_MESSAGE(fits.exit_code == 0, fits.err);
  BOOST_TEST(fits.out.find(" ms, but takes more than 17.5 GiB per device\n") != std::string::npos,
             fits.out);
  const Outcome checked = run_command(
      {"check", "--tables", kRunningTables, "--plan", next, "--device-memory", "17.5GiB"});
  BOOST_TEST(checked.exit_code == 0, checked.err);
  expect_one_line(made("1MB"), 3, "what has to go to others is more than may move: ");
}

BOOST_AUTO_TEST_CASE(without_anything_to_gain_the_plan_is_the_one_that_runs) {
  const TemporaryFolder folder;
  const std::string tables =
      folder.write("tables.json", R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "a", "rows": 1000, "dim": 4, "pooling_factor": 1},
          {"name": "b", "rows": 1000, "dim": 4, "pooling_factor": 1}]})");
  const std::string now = folder.write(
      "now.json", R"({"format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": 65536,
          "shards": [{"table": 0, "rows": [0, 1000], "columns": [0, 4], "device": 0},
                     {"table": 1, "rows": [0, 1000], "columns": [0, 4], "device": 1}]})");
  const Outcome made = run_command({"replan", "--tables", tables, "--plan", now, "--device-memory",
                                    "1GB", "--move-limit", "1GB", "--evaluations", "500"});
  BOOST_TEST(made.exit_code == 0, made.err);
  BOOST_TEST(made.out.find("no cheaper plan was found") != std::string::npos);
  BOOST_TEST(made.out.find("moves 0 B of ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_replanned_is_refused_in_one_line) {
  const TemporaryFolder folder;
  const std::string now = running_plan_in(folder);
  expect_one_line(replanned(now, {}), 2, "--move-limit");
  expect_one_line(replanned(now, {"--move-limit", "-1"}), 2, "'-1' is negative");
  expect_one_line(replanned(now, {"--move-limit", "1GB", "--devices", "4"}), 2,
                  "expected one for 4");
  expect_one_line(replanned(now, {"--move-limit", "1GB", "--format", "torchrec"}), 2,
                  "without --output");
  expect_one_line(run_command({"replan", "--tables", kRunningTables, "--plan", now,
                               "--device-memory", "10GB", "--move-limit", "1GB"}),
                  3, now + ": device");
}

BOOST_AUTO_TEST_SUITE_END()
