// Tables from foreign forms and from recorded lookups, through the real command.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/apps/process.h"

namespace {

using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

Outcome imported(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments{"tables", "import"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return run_command(arguments);
}

void expect_refused(const Outcome& outcome, const std::string& expected) {
  BOOST_TEST_CONTEXT("stderr: " << outcome.err) {
    BOOST_TEST(outcome.exit_code == 2);
    BOOST_TEST(outcome.out.empty());
    BOOST_TEST(lines_of(outcome.err).size() == 1U);
    BOOST_TEST(outcome.err.find(expected) != std::string::npos);
  }
}

const std::string kLookups = source_file("examples/lookups");

}  // namespace

BOOST_AUTO_TEST_SUITE(table_sources)

BOOST_AUTO_TEST_CASE(lookups_become_tables) {
  const TemporaryFolder folder;
  const std::string tables = folder.file("tables.json");
  BOOST_TEST(imported({"--indices", kLookups, "--dim", "64", "--output", tables}).exit_code == 0);
  const Outcome summary = run_command({"tables", "summarize", "--tables", tables});
  BOOST_TEST(summary.exit_code == 0);
  BOOST_TEST(summary.out.find("table_3") != std::string::npos);
  const std::string one = imported({"--indices", kLookups, "--dim", "64", "--threads", "1"}).out;
  BOOST_TEST(one == slurp(tables));
  BOOST_TEST(imported({"--indices", kLookups, "--dim", "64", "--memory", "1"}).out == one);
  BOOST_TEST(imported({"--indices", kLookups, "--dim", "64", "--min-rows", "100000"})
                 .out.find("\"rows\": 100000,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(rows_that_are_looked_up_most_come_with_them) {
  const TemporaryFolder folder;
  const std::string tables = folder.file("tables.json");
  const std::string hot = folder.file("hot");
  BOOST_TEST(imported({"--indices", kLookups, "--dim", "64", "--hot-rows", hot, "--output", tables})
                 .exit_code == 0);
  BOOST_TEST(slurp(tables) == imported({"--indices", kLookups, "--dim", "64"}).out);
  BOOST_TEST(slurp(tables).find("\"hot_lookups\": [1, ") != std::string::npos);
  BOOST_TEST(slurp(tables).find("\"hot_bags\": [1, ") != std::string::npos);
  const std::string list = slurp(hot + "/hot_rows.json");
  BOOST_TEST(list.find("\"format\": \"neuroshard-hot-rows\"") != std::string::npos);
  BOOST_TEST(list.find("\"name\": \"table_3\", \"file\": \"3.npy\"") != std::string::npos);
  BOOST_TEST(slurp(hot + "/3.npy").substr(1, 5) == "NUMPY");
  // Written once: what is there stays, and the tables are not written either.
  const std::string other = folder.file("other.json");
  expect_refused(
      imported({"--indices", kLookups, "--dim", "8", "--hot-rows", hot, "--output", other}), hot);
  BOOST_TEST(!std::filesystem::exists(other));
  // Many small pieces of memory change nothing.
  const std::string again = folder.file("again");
  imported({"--indices", kLookups, "--dim", "64", "--hot-rows", again, "--memory", "1"});
  BOOST_TEST(slurp(again + "/hot_rows.json") == list);
  BOOST_TEST(slurp(again + "/1.npy") == slurp(hot + "/1.npy"));
}

BOOST_AUTO_TEST_CASE(known_tables_keep_what_lookups_do_not_say) {
  const TemporaryFolder folder;
  const std::string csv =
      "name,rows,dim,pooling_factor,data_type\nu,50,4,1,fp16\nv,1000,8,1,fp32\n"
      "w,20000,16,1,fp32\nx,300,32,1,fp32\n";
  const std::string tables = folder.write("tables.csv", csv);
  const Outcome outcome = imported({"--indices", kLookups, "--tables", tables});
  BOOST_TEST(outcome.exit_code == 0);
  BOOST_TEST(outcome.out.find("\"name\": \"w\"") != std::string::npos);
  std::string modules = outcome.out;
  const std::string type = "\"data_type\": \"fp16\",";
  modules.insert(modules.find(type), "\"module\": \"towers.bags\",\n      ");
  const std::string named = folder.write("named.json", modules);
  BOOST_TEST(imported({"--indices", kLookups, "--tables", named})
                 .out.find("\"module\": \"towers.bags\"") != std::string::npos);
  BOOST_TEST(outcome.out.find("\"data_type\": \"fp16\"") != std::string::npos);
  const std::string narrow = folder.write("narrow.csv",
                                          "name,rows,dim,pooling_factor\nu,3,4,1\n"
                                          "v,1000,8,1\nw,20000,16,1\nx,300,32,1\n");
  expect_refused(imported({"--indices", kLookups, "--tables", narrow}),
                 narrow + ": table 0 has 3 rows, expected more than row");
  const std::string few = folder.write("few.csv", "name,rows,dim,pooling_factor\nu,50,4,1\n");
  expect_refused(imported({"--indices", kLookups, "--tables", few}), few + ": found 1 tables");
}

BOOST_AUTO_TEST_CASE(tables_that_limit_their_sharding_are_counted_where_there_are_some) {
  const auto summary = [&](const std::string& limits, std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"tables", "summarize", "--tables", "-"});
    const std::string tables =
        R"([{"name": "u", "num_embeddings": 9, "embedding_dim": 8, "pooling_factors": [1]},
            {"name": "v", "num_embeddings": 9, "embedding_dim": 8, "pooling_factors": [1])" +
        limits + "}]";
    return run_command(flags, {.input = tables}).out;
  };
  const std::string whole = R"(, "sharding_types": ["table_wise"])";
  const std::string text = summary(whole, {});
  BOOST_TEST(text.find("\nwith limited sharding                 1\n") != std::string::npos, text);
  BOOST_TEST(summary("", {}).find("sharding") == std::string::npos);
  const std::string json = summary(whole, {"--output", "-"});
  BOOST_TEST(json.find("\"limited_sharding\": 1,") != std::string::npos, json);
  BOOST_TEST(summary("", {"--output", "-"}).find("\"limited_sharding\": 0,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(names_in_any_language_leave_columns_aligned) {
  const TemporaryFolder folder;
  // Six columns each: three wide characters, four with two marks and two, six.
  const std::vector<std::string> names{"\uD55C\uAD6D\uC5B4", "\U0001F600e\u0301a\u0308bc",
                                       "abcdef"};
  std::string csv = "name,rows,dim,pooling_factor\n";
  for (const std::string& name : names) csv += name + ",1000,8,2\n";
  const std::string out =
      run_command({"tables", "summarize", "--tables", folder.write("t.csv", csv)}).out;
  std::set<std::string> rests;
  for (const std::string& line : lines_of(out)) {
    for (const std::string& name : names) {
      if (line.starts_with(name)) rests.insert(line.substr(name.size(), 25));
    }
  }
  BOOST_TEST(rests.size() == 2U);  // one by memory, one by lookups
}

BOOST_AUTO_TEST_CASE(bad_requests_end_in_one_line) {
  const TemporaryFolder folder;
  expect_refused(imported({"--indices", kLookups}), "neither --tables nor --dim");
  expect_refused(imported({"--indices", kLookups, "--dim", "4", "--tables", "x"}),
                 "both --tables and --dim");
  expect_refused(imported({"--indices", kLookups, "--tables", "x", "--min-rows", "9"}),
                 "--min-rows: found with --tables");
  expect_refused(imported({"--indices", folder.path().string(), "--dim", "4"}),
                 folder.file("offsets.npy"));
  expect_refused(imported({"--indices", kLookups, "--dim", "4", "--batch-size", "32"}),
                 "found a batch of 64");
  const std::string bad = folder.write("bad.csv", "name,rows,dim,pooling_factor\na,0,4,1\n");
  expect_refused(run_command({"plan", "--tables", bad, "--devices", "1", "--device-memory", "1GB"}),
                 bad + ":2: rows: found '0'");
}

BOOST_AUTO_TEST_CASE(sums_beyond_what_can_be_counted_are_no_summary) {
  const Outcome outcome =
      run_command({"tables", "summarize", "--tables", "-"},
                  {.input = "name,rows,dim,pooling_factor\nu,1152921504606846976,1,1\n"
                            "v,1152921504606846976,1,1\n"});
  expect_refused(outcome, "<stdin>: tables[0..1] together, expected below 2^63 bytes");
}

BOOST_AUTO_TEST_SUITE_END()
