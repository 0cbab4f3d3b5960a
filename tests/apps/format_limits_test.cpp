// Plans for formats that have no place for every plan.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/support/sanitized.h"

namespace {

using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

}  // namespace

BOOST_AUTO_TEST_SUITE(format_limits)

BOOST_AUTO_TEST_CASE(
    where_a_format_has_no_place_for_the_best_plan_one_with_equal_columns_is_written) {
  const TemporaryFolder folder;
  // 12 columns split into 8 and 4 only, and in two parts the table is faster.
  const std::string tables =
      folder.write("uneven.json",
                   R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "hot", "rows": 1000000, "dim": 12, "pooling_factor": 500}]})");
  const auto planned = [&](const std::string& memory, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"plan", "--tables",        tables, "--devices",
                                       "2",    "--device-memory", memory, "--evaluations",
                                       "2000", "--row-splits",    "off",  "--output",
                                       "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  };
  const Outcome native = planned("1GB", {});
  BOOST_REQUIRE(native.out.find("\"columns\": [0, 8]") != std::string::npos);
  for (const std::string algorithm : {"refine", "neuroshard"}) {
    const Outcome written = planned("1GB", {"--format", "hugectr", "--algorithm", algorithm});
    BOOST_TEST(written.exit_code == 0, written.err);
    BOOST_TEST(written.out.find("[\"mp\", [\"hot\"]]") != std::string::npos, written.out);
  }
  // Another run of a search that time ended may find a plan that can be written.
  const Outcome hasty =
      run_command({"plan", "--tables", tables, "--devices", "2", "--device-memory", "1GB",
                   "--time-limit", "0.01", "--format", "hugectr", "--output", folder.file("hot")});
  BOOST_TEST(hasty.exit_code == 0, hasty.err);
  BOOST_TEST(hasty.out.find("time ended the search") != std::string::npos, hasty.out);
  // Whole it does not fit on a device: what is told would do does.
  expect_one_line(planned("40MB", {"--format", "hugectr"}), 3,
                  "45.78MiB of memory per device would do, with whole tables");
  BOOST_TEST(planned("45.78MiB", {"--format", "hugectr"}).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(column_blocks_are_equal_where_memory_asks_for_more_than_halves) {
  const TemporaryFolder folder;
  const std::string large =
      folder.write("large.json", R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "a", "rows": 10000000, "dim": 128, "pooling_factor": 3}]})");
  const auto planned = [&](const std::string& tables, const std::string& devices,
                           const std::string& memory) {
    const std::string file = folder.file("hugectr.json");
    const Outcome made =
        run_command({"plan", "--tables", tables, "--devices", devices, "--device-memory", memory,
                     "--evaluations", neuroshard::test::unless_sanitized("20000", "2000"),
                     "--format", "hugectr", "--output", file});
    BOOST_TEST(made.exit_code == 0, made.err);
    const Outcome checked = run_command({"check", "--tables", tables, "--plan", file, "--target",
                                         "hugectr", "--device-memory", memory});
    BOOST_TEST(checked.out.find("no fault") != std::string::npos, checked.out);
    return slurp(file);
  };
  // Halves of halves leave devices unequal blocks; four of 1.28 GB fit.
  BOOST_TEST(planned(large, "5", "1424000000").find("[\"a\", 4]") != std::string::npos);
  const std::string criteo = source_file("examples/dlrm_dcnv2.json");
  BOOST_TEST(planned(criteo, "16", "20GB").find("[\"cat_0\", ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(columns_that_a_format_joins_are_no_whole_table_that_may_not_be) {
  const TemporaryFolder folder;
  const auto planned = [&](const std::string& format, const std::string& more) {
    const std::string tables =
        folder.write("columns.json",
                     R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "user", "rows": 1000, "dim": 12, "pooling_factor": 1, "devices": [0], )" +
                         more + "}]}");
    return run_command({"plan", "--tables", tables, "--devices", "2", "--device-memory", "1GB",
                        "--evaluations", "100", "--format", format, "--output", "-"});
  };
  const std::string columns = R"("sharding": ["columns"])";
  for (const std::string format : {"torchrec", "hugectr", "hugectr-python"}) {
    expect_one_line(planned(format, columns), 3,
                    "columns on a device joined as " + format +
                        " has them: table 0 'user': found it whole on one device, its sharding "
                        "allows columns; no "
                        "plan found that " +
                        format + " has a place for: allowing all tables whole would do");
    BOOST_TEST(planned(format, R"("sharding": ["columns", "whole"])").exit_code == 0);
  }
  BOOST_TEST(planned("json", columns).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(a_search_makes_no_row_shards_that_the_format_has_no_place_for) {
  const auto planned = [](const std::string& format, const std::string& rows) {
    return run_command({"plan", "--tables", source_file("examples/dlrm_dcnv2.json"), "--devices",
                        "8", "--device-memory", "80GB", "--evaluations", "3000", "--row-splits",
                        rows, "--format", format, "--output", "-"});
  };
  for (const std::string format : {"torchrec", "hugectr"}) {
    const Outcome even = planned(format, "even");
    BOOST_TEST(even.exit_code == 0);
    BOOST_TEST(even.err.find("--row-splits") == std::string::npos, even.err);
    const Outcome any = planned(format, "any");
    BOOST_TEST(any.exit_code == 0);
    BOOST_TEST(
        any.err.find("--row-splits any: " + format +
                     " has no place for such, as with --row-splits even") != std::string::npos,
        any.err);
    BOOST_TEST(any.out == even.out);
    const Outcome off = planned(format, "off");
    BOOST_TEST(off.err.empty(), off.err);
    BOOST_TEST(off.out != even.out);
  }
  BOOST_TEST(planned("torchrec", "even").out.find("row_wise") != std::string::npos);
  const std::string hugectr = planned("hugectr", "even").err;
  BOOST_TEST(hugectr.find("HugeCTR deals the rows of table ") != std::string::npos, hugectr);
}

BOOST_AUTO_TEST_CASE(tables_that_may_only_be_on_every_device_are_told_the_flags_for_that) {
  const TemporaryFolder folder;
  const std::string tables =
      folder.write("replica.json", R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "small", "rows": 1000, "dim": 16, "pooling_factor": 1,
           "sharding": ["data_parallel"]}]})");
  const auto planned = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"plan", "--tables",        tables, "--devices",
                                       "2",    "--device-memory", "1GB",  "--evaluations",
                                       "1000", "--output",        "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  };
  const std::string all = "refine makes tables data-parallel with --data-parallel on";
  expect_one_line(planned({}), 3,
                  "allowing whole would do; it fits with data-parallel tables; " + all);
  expect_one_line(planned({"--algorithm", "anneal"}), 3, all);
  const Outcome off = planned({"--cost-model", "torchrec"});
  expect_one_line(off, 3, "refine makes tables data-parallel with --data-parallel on");
  BOOST_TEST(off.err.find("host-memory") == std::string::npos, off.err);
  for (const std::string model : {"torchrec", "h200_sim"}) {
    BOOST_TEST(planned({"--cost-model", model, "--data-parallel", "on"}).exit_code == 0);
  }
}

BOOST_AUTO_TEST_CASE(what_would_fit_is_told_without_row_shards_that_the_format_has_no_place_for) {
  const TemporaryFolder folder;
  const std::string tables =
      folder.write("tall.json", R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "tall", "rows": 1000000, "dim": 4, "pooling_factor": 1}]})");
  const auto planned = [&](const std::string& format, const std::string& rows) {
    return run_command({"plan", "--tables", tables, "--devices", "4", "--device-memory", "13MB",
                        "--evaluations", "1000", "--row-splits", rows, "--format", format,
                        "--output", "-"});
  };
  for (const std::string format : {"torchrec", "hugectr"}) {
    expect_one_line(planned(format, "off"), 3, "it fits with row splits 'even'");
    BOOST_TEST(planned(format, "even").exit_code == 0);
  }
  // Three rows in blocks of two on 4 devices leave some without: halves alone would do.
  const std::string few =
      folder.write("few.json", R"({"format": "neuroshard-tables", "version": 1, "tables": [
          {"name": "few", "rows": 3, "dim": 4, "pooling_factor": 1}]})");
  for (const std::string format : {"torchrec", "hugectr", "json"}) {
    const Outcome half = run_command({"plan", "--tables", few, "--devices", "4", "--device-memory",
                                      "33B", "--evaluations", "100", "--row-splits", "even",
                                      "--format", format, "--output", "-"});
    BOOST_TEST(half.exit_code == 3);
    BOOST_TEST((half.err.find("it fits with row splits 'any'") != std::string::npos) ==
               (format == "json"));
  }
}

BOOST_AUTO_TEST_CASE(row_splits_that_neither_format_nor_cost_model_know_get_one_note) {
  const TemporaryFolder folder;
  const Outcome planned = run_command(
      {"plan", "--tables", source_file("examples/dlrm_dcnv2.json"), "--devices", "8",
       "--device-memory", "80GB", "--evaluations", "100", "--cost-model", "torchrec",
       "--row-splits", "any", "--format", "hugectr", "--output", folder.file("plan.json")});
  BOOST_TEST(planned.exit_code == 0, planned.err);
  const std::string note = "--row-splits any: ";
  const std::size_t at = planned.err.find(note);
  BOOST_REQUIRE_MESSAGE(at != std::string::npos, planned.err);
  BOOST_TEST(planned.err.find("as with --row-splits even", at) != std::string::npos, planned.err);
  BOOST_TEST(planned.err.find(note, at + 1) == std::string::npos, planned.err);
}

BOOST_AUTO_TEST_SUITE_END()
