// Rows that HugeCTR deals out by key modulo, through the real command.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

const std::string kPublicTables = source_file("examples/dlrm_dcnv2.json");

/// The plan of HugeCTR's own DLRM sample (its rowwise_sharding_plan()): all 26 tables on all 8
/// GPUs, also those of 3 rows.
std::string row_wise_lists() {
  std::string names;
  for (int table = 0; table < 26; ++table) {
    names += (table == 0 ? "\"cat_" : ", \"cat_") + std::to_string(table) + "\"";
  }
  std::string matrix;
  for (int gpu = 0; gpu < 8; ++gpu) matrix += (gpu == 0 ? "[" : ", [") + names + "]";
  return R"({"shard_matrix": [)" + matrix + R"(], "shard_strategy": [["mp", [)" + names + "]]]}";
}

Outcome of_plan(const std::string& command, const std::string& plan,
                const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{command, "--tables", kPublicTables, "--plan", plan};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hugectr_rows)

BOOST_AUTO_TEST_CASE(hugectrs_row_wise_plan_goes_through_every_command) {
  const TemporaryFolder folder;
  const std::string lists = folder.write("lists.json", row_wise_lists());
  const std::string plan = folder.file("plan.json");
  const Outcome read = of_plan("export", lists, {"--format", "json", "--output", plan});
  BOOST_REQUIRE_MESSAGE(read.exit_code == 0, read.err);
  BOOST_TEST(read.err ==
             "table 'cat_0' and 25 more: rows by key modulo read as contiguous blocks of the same "
             "sizes\n");
  for (const std::string& file : {lists, plan}) {
    for (const std::string model : {"h200_sim", "torchrec"}) {
      const std::vector<std::string> setting{"--cost-model", model, "--device-memory", "80GB"};
      BOOST_TEST(of_plan("simulate", file, setting).exit_code == 0);
      BOOST_TEST(of_plan("explain", file, setting).exit_code == 0);
    }
    BOOST_TEST(of_plan("measure", file, {"--backend", "sim", "--profile", "H100-80G"}).exit_code ==
               0);
    const Outcome checked = of_plan("check", file, {"--target", "hugectr"});
    BOOST_TEST(checked.exit_code == 0, checked.out);
  }
  // TorchRec's blocks are even: 39,060 rows are 7 times 4883, and 4879.
  const Outcome torchrec = of_plan("check", plan, {"--target", "torchrec"});
  BOOST_TEST(torchrec.exit_code == 2, torchrec.out);
  BOOST_TEST(torchrec.out.find("cat_1") != std::string::npos, torchrec.out);
  // And back: tables of fewer rows than GPUs are listed where they have rows.
  const Outcome written = of_plan("export", plan, {"--format", "hugectr"});
  BOOST_TEST(written.exit_code == 0, written.err);
  BOOST_TEST(written.err == plan +
                                ": HugeCTR deals the rows of table 0 'cat_0' and 25 more out by "
                                "key modulo, not in contiguous blocks: that costs the same "
                                "where ids are shuffled\n");
  const std::string again = folder.write("again.json", written.out);
  const Outcome back = of_plan("export", again, {"--format", "json"});
  BOOST_TEST(back.out == slurp(plan));
}

const std::string kEvaluations = neuroshard::test::unless_sanitized("20000", "2000");

BOOST_AUTO_TEST_CASE(plans_deal_rows_out_where_that_is_cheaper_and_lists_cost_what_is_said) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  const std::string lists = folder.file("lists.json");
  const auto planned = [&](const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "plan", "--tables",     kPublicTables, "--devices",     "16",         "--device-memory",
        "80GB", "--cost-model", model,         "--evaluations", kEvaluations, "--devices-per-host",
        "8"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  };
  for (const std::string model : {"h200_sim", "torchrec"}) {
    BOOST_TEST_CONTEXT(model) {
      const Outcome made = planned(model, {"--target", "hugectr", "--output", plan});
      BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
      BOOST_TEST(made.err.find("key modulo") == std::string::npos, made.err);  // it is no lists
      const Outcome direct = planned(model, {"--format", "hugectr", "--output", lists});
      BOOST_TEST(direct.err.find("HugeCTR deals the rows of table ") != std::string::npos,
                 direct.err);
      BOOST_TEST(of_plan("export", plan, {"--format", "hugectr"}).out == slurp(lists));
      const std::vector<std::string> setting{"--cost-model",       model, "--device-memory", "80GB",
                                             "--devices-per-host", "8",   "--output",        "-"};
      const auto shards_and_costs = [&](const std::string& file) {
        const std::string text = of_plan("simulate", file, setting).out;
        const std::size_t begin = text.find("\"shards\"");
        const std::size_t end = text.find("\"provenance\"");
        BOOST_REQUIRE_MESSAGE(begin < text.size(), text);
        return text.substr(begin, end < begin ? std::string::npos : end - begin);
      };
      BOOST_TEST(shards_and_costs(lists) == shards_and_costs(plan));
    }
  }
}

BOOST_AUTO_TEST_CASE(tables_that_grow_stay_dealt_out_by_modulo) {
  const TemporaryFolder folder;
  const auto tables = [&](const std::string& rows) {
    return folder.write("tables.json",
                        R"({"format": "neuroshard-tables", "version": 1, "tables": [
                        {"name": "user", "rows": )" +
                            rows + R"(, "dim": 8, "pooling_factor": 2}]})");
  };
  const std::string plan = folder.file("plan.json");
  const Outcome made = run_command({"export", "--tables", tables("8"), "--plan",
                                    folder.write("lists.json", R"({"shard_matrix": [["user"],
                                    ["user"], ["user"], ["user"]], "shard_strategy": [["mp",
                                    ["user"]]]})"),
                                    "--format", "json", "--output", plan});
  BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  // 2 rows each, then 3, 3, 2 and 2: TorchRec's would be 3, 3, 3 and 1.
  const std::string grown = tables("10");
  const std::string later = folder.file("later.json");
  const Outcome next = run_command({"replan", "--tables", grown, "--plan", plan, "--device-memory",
                                    "1GB", "--move-limit", "1GB", "--evaluations", "100",
                                    "--format", "hugectr", "--output", later});
  BOOST_TEST(next.exit_code == 0, next.err);
  BOOST_TEST(next.err.find("HugeCTR deals the rows of table 0 'user' out") != std::string::npos);
  BOOST_TEST(run_command({"check", "--tables", grown, "--plan", later, "--device-memory", "1GB"})
                 .exit_code == 0);
}

BOOST_AUTO_TEST_CASE(torchrecs_blocks_of_rows_are_refused_with_what_would_be_run) {
  const TemporaryFolder folder;
  const std::string tables =
      folder.write("tables.json", R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "user", "rows": 10, "dim": 8, "pooling_factor": 2}]})");
  const std::string plan = folder.write("plan.json", R"({"format": "neuroshard-plan", "version": 1,
    "devices": 4, "batch_size": 65536, "shards": [
    {"table": 0, "rows": [0, 3], "columns": [0, 8], "device": 0},
    {"table": 0, "rows": [3, 6], "columns": [0, 8], "device": 1},
    {"table": 0, "rows": [6, 9], "columns": [0, 8], "device": 2},
    {"table": 0, "rows": [9, 10], "columns": [0, 8], "device": 3}]})");
  const Outcome refused =
      run_command({"export", "--tables", tables, "--plan", plan, "--format", "hugectr-python"});
  BOOST_TEST(refused.exit_code == 2);
  BOOST_TEST(refused.out.empty());
  BOOST_TEST(refused.err.find("table 0 'user': rows [6, 9) x columns [0, 8) on device 2, HugeCTR "
                              "deals rows out by key modulo") != std::string::npos,
             refused.err);
}

BOOST_AUTO_TEST_SUITE_END()
