// Bad input of every kind through the real command: exit code 2 (3 when nothing fits), nothing on
// standard output, one line on standard error that names the file and what is wrong in it.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/apps/process.h"

BOOST_AUTO_TEST_SUITE(hostile_input)

namespace {

using neuroshard::test::lines_of;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

/// A file's content and a word its error must hold.
struct BadFile {
  std::string what;
  std::string bytes;
  std::string expected;
};

std::string tables_json(const std::string& one_table) {
  return R"({"format": "neuroshard-tables", "version": 1, "batch_size": 65536, "tables": [)" +
         one_table + "]}";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

const std::string kTable = R"({"name": "a", "rows": 1000, "dim": 16, "pooling_factor": 2})";

std::vector<BadFile> bad_tables() {
  const std::string good = tables_json(kTable);
  return {
      {"empty", "", ""},
      {"truncated", good.substr(0, good.size() / 2), ""},
      {"two values", good + good, ""},
      {"deeply nested", std::string(100000, '['), ""},
      {"not JSON", "rows,dim\n1000,16\n", ""},
      {"not UTF-8", replaced(good, "\"a\"", "\"\xff\xfe\""), ""},
      {"wrong format", replaced(good, "neuroshard-tables", "neuroshard-plan"), "$.format"},
      {"future version", replaced(good, "\"version\": 1", "\"version\": 2"), "$.version"},
      {"unknown key", replaced(good, "\"rows\"", "\"rows\": 1, \"rws\""), "rws"},
      {"duplicate key", replaced(good, "\"rows\"", "\"rows\": 1, \"rows\""), "rows"},
      {"missing key", replaced(good, "\"rows\": 1000, ", ""), "$.tables[0]"},
      {"wrong type", replaced(good, "1000", "\"1000\""), "$.tables[0].rows"},
      {"NaN", replaced(good, "1000", "NaN"), ""},
      {"negative", replaced(good, "1000", "-1000"), "$.tables[0].rows"},
      {"zero dim", replaced(good, "16", "0"), "$.tables[0].dim"},
      {"beyond 64 bits", replaced(good, "1000", "99999999999999999999"), "$.tables[0].rows"},
      {"rows x dim beyond 2^63", replaced(good, "1000", "4611686018427387904"), "$.tables[0]"},
      {"beyond a double", replaced(good, ": 2}", ": 1e999}"), "1e999"},
      {"histogram of zeros",
       replaced(good, ": 2}", ": 2, \"reuse_histogram\": [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"),
       "$.tables[0].reuse_histogram"},
      {"histogram too short", replaced(good, ": 2}", ": 2, \"reuse_histogram\": [1]}"),
       "reuse_histogram"},
      {"no tables", tables_json(""), ""},
      {"equal names", tables_json(kTable + "," + kTable), "$.tables[1]"},
  };
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& file,
                    const BadFile& bad, int exit_code = 2) {
  const Outcome outcome = run_command(arguments);
  BOOST_TEST_CONTEXT(bad.what << ", stderr: " << outcome.err) {
    BOOST_TEST(outcome.exit_code == exit_code);
    BOOST_TEST(outcome.out.empty());
    BOOST_TEST(lines_of(outcome.err).size() == 1U);
    BOOST_TEST(outcome.err.find(file) != std::string::npos);
    BOOST_TEST(outcome.err.find(bad.expected) != std::string::npos);
  }
}

std::vector<std::string> plan_arguments(const std::string& tables) {
  return {"plan", "--tables", tables, "--devices", "2", "--device-memory", "1GiB"};
}

}  // namespace

BOOST_AUTO_TEST_CASE(tables) {
  const TemporaryFolder folder;
  for (const BadFile& bad : bad_tables()) {
    const std::string file = folder.write("tables.json", bad.bytes);
    expect_refused(plan_arguments(file), file, bad);
  }
  expect_refused(plan_arguments(folder.file("none.json")), "none.json", {"missing", "", ""});
  expect_refused(plan_arguments(folder.path()), folder.path(), {"directory", "", "directory"});
  const std::string huge = folder.write("huge.json", "");
  std::filesystem::resize_file(huge, std::uintmax_t{3} << 30);  // sparse
  expect_refused(plan_arguments(huge), huge, {"3 GiB", "", ""});
  const std::string no_dims = folder.write(
      "reference.json", R"([{"row": 10, "pooling_factor": 1, "bin_0": 1, "bin_1": 0, "bin_2": 0,
        "bin_3": 0, "bin_4": 0, "bin_5": 0, "bin_6": 0, "bin_7": 0, "bin_8": 0, "bin_9": 0,
        "bin_10": 0, "bin_11": 0, "bin_12": 0, "bin_13": 0, "bin_14": 0, "bin_15": 0,
        "bin_16": 0}])");
  expect_refused(plan_arguments(no_dims), no_dims, {"tables without dims", "", "dim"});
}

BOOST_AUTO_TEST_CASE(standard_input_is_named_too) {
  const Outcome outcome = run_command(plan_arguments("-"), {.input = "{"});
  BOOST_TEST(outcome.exit_code == 2);
  BOOST_TEST(lines_of(outcome.err).size() == 1U);
  BOOST_TEST(outcome.err.find("stdin") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(tasks) {
  const TemporaryFolder folder;
  const std::string pool = folder.write("pool.json", tables_json(kTable));
  const std::vector<BadFile> cases{
      {"empty", "", ""},
      {"no dims", "0\n", ":1:"},
      {"more ids than dims", "0,0 4\n", ":1:"},
      {"an id outside the pool", "0 4\n1 4\n", ":2:"},
      {"a negative id", "-1 4\n", ":1:"},
      {"a dim of 0", "0 0\n", ":1:"},
      {"a huge dim", "0 99999999999\n", ":1:"},
      {"NaN", "0 nan\n", ":1:"},
      {"a third column", "0 4 4\n", ":1:"},
      {"not text", std::string("\xff\x00\x01", 3) + "\n", ":1:"},
  };
  for (const BadFile& bad : cases) {
    const std::string file = folder.write("tasks.txt", bad.bytes);
    expect_refused(
        {"compare", "--tables", pool, "--tasks", file, "--devices", "2", "--device-memory", "1GiB"},
        file, bad);
  }
}

BOOST_AUTO_TEST_CASE(plans) {
  const TemporaryFolder folder;
  const std::string tables = folder.write("tables.json", tables_json(kTable));
  const auto plan = [](const std::string& shards) {
    return R"({"format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": 65536,
              "shards": [)" +
           shards + "]}";
  };
  const std::string half = R"({"table": 0, "rows": [0, 1000], "columns": [0, 8], "device": 0})";
  const std::string rest = R"({"table": 0, "rows": [0, 1000], "columns": [8, 16], "device": 1})";
  const std::vector<BadFile> cases{
      {"truncated", plan(half).substr(0, 90), ""},
      {"a hole", plan(half), "table 0"},
      {"twice the same cells", plan(half + "," + rest + "," + half), "table 0"},
      {"a table that is not there", plan(replaced(half, "\"table\": 0", "\"table\": 1")), ""},
      {"a device that is not there", plan(replaced(half, "\"device\": 0", "\"device\": 2")), ""},
      {"outside the table", plan(half + "," + replaced(rest, "16", "20")), ""},
      {"an empty range", plan(replaced(half, "[0, 8]", "[8, 8]")), "columns"},
      {"a negative device", plan(replaced(half, "\"device\": 0", "\"device\": -3")), "device"},
      {"an unknown key", plan(replaced(half, "\"device\"", "\"host\": 1, \"device\"")), "host"},
      {"a range of three", plan(replaced(half, "[0, 8]", "[0, 8, 9]")), "columns"},
  };
  for (const BadFile& bad : cases) {
    const std::string file = folder.write("plan.json", bad.bytes);
    expect_refused({"simulate", "--tables", tables, "--plan", file, "--device-memory", "1GiB"},
                   file, bad);
  }
  expect_refused({"simulate", "--tables", "-", "--plan", "-", "--device-memory", "1GiB"}, "--plan",
                 {"both from standard input", "", "'-'"});
}

BOOST_AUTO_TEST_CASE(cost_models) {
  const TemporaryFolder folder;
  const std::string header = R"({"__metadata__":{"format":"neuroshard-cost-models"}})";
  const auto with_length = [](const std::string& text, std::uint64_t length) {
    std::string bytes;
    for (int k = 0; k < 8; ++k) bytes += static_cast<char>(length >> (8 * k) & 0xff);
    return bytes + text;
  };
  const std::vector<BadFile> cases{
      {"empty", "", ""},
      {"shorter than its header", with_length(header, header.size() + 1), ""},
      {"a header beyond 2^63", with_length(header, ~std::uint64_t{0}), ""},
      {"no tensors", with_length(header, header.size()), ""},
      {"not a model", slurp(source_file("LICENSE")), ""},
  };
  for (const BadFile& bad : cases) {
    const std::string file = folder.write("model.safetensors", bad.bytes);
    std::vector<std::string> arguments = plan_arguments(source_file("examples/dlrm_dcnv2.json"));
    arguments.insert(arguments.end(), {"--cost-model", file});
    expect_refused(arguments, file, bad);
  }
}

BOOST_AUTO_TEST_CASE(cost_data) {
  const TemporaryFolder folder;
  const std::string data = folder.file("data");
  const std::string pool = folder.file("pool.json");  // each refusal reads it all
  BOOST_REQUIRE(run_command({"tables", "generate", "--count", "50", "--output", pool}).exit_code ==
                0);
  BOOST_REQUIRE(run_command({"collect", "compute", "--backend", "sim", "--profile", "H200-141G",
                             "--samples", "20", "--tables", pool, "--output", data})
                    .exit_code == 0);
  const std::string lines = slurp(data + "/data.txt");
  const auto train = [&] {
    return std::vector<std::string>{"train", "compute",  "--data",
                                    data,    "--output", folder.file("model")};
  };
  const std::vector<BadFile> cases{
      {"torn last line", lines.substr(0, lines.size() - 3), ":20:"},
      {"an id outside the pool", "999999 1.0\n", ":1:"},
      {"a negative cost", lines + "0 -1\n", ":21:"},
      {"NaN", lines + "0 nan\n", ":21:"},
      {"no cost", lines + "0,1\n", ":21:"},
      {"a word", lines + "zero 1\n", ":21:"},
  };
  for (const BadFile& bad : cases) {
    folder.write("data/data.txt", bad.bytes);
    expect_refused(train(), data + "/data.txt", bad);
  }
  folder.write("data/data.txt", lines);
  folder.write("data/collection.json", "{}");
  expect_refused(train(), data + "/collection.json", {"no format", "", "format"});
  std::filesystem::remove(data + "/data.txt");
  expect_refused(train(), data, {"nothing measured", "", ""});
  BOOST_TEST(!std::filesystem::exists(folder.file("model")));
}

BOOST_AUTO_TEST_CASE(what_fits_on_no_device_is_named) {
  const TemporaryFolder folder;
  const std::string big = replaced(kTable, "1000", "100000000000");
  const std::string file = folder.write("big.json", tables_json(big));
  expect_refused(plan_arguments(file), "a", {"a table beyond all devices", "", "GiB"}, 3);
  const std::string many = tables_json(kTable + "," + replaced(kTable, "\"a\"", "\"b\""));
  expect_refused({"plan", "--tables", folder.write("many.json", many), "--devices", "1",
                  "--device-memory", "100KB"},
                 "", {"tables beyond the sum of devices", "", "KiB"}, 3);
}

BOOST_AUTO_TEST_CASE(a_plan_beyond_the_memory_is_refused_by_simulate) {
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  const std::string tables = source_file("examples/dlrm_dcnv2.json");
  BOOST_REQUIRE(run_command({"plan", "--tables", tables, "--devices", "8", "--device-memory",
                             "80GB", "--output", plan})
                    .exit_code == 0);
  expect_refused({"simulate", "--tables", tables, "--plan", plan, "--device-memory", "2GiB"}, plan,
                 {"2 GiB", "", "device"}, 3);
}

BOOST_AUTO_TEST_SUITE_END()
