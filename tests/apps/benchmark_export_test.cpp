// A plan as a benchmark: the real command writes the folder, and what it wrote is read back by the
// commands that read such files. The script itself is run by scripts/test-torchrec.sh.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "io/json/json.h"
#include "io/tables/tables.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {
namespace benchmark_export_suite {

using neuroshard::Table;
using neuroshard::io::JsonArray;
using neuroshard::io::JsonDocument;
using neuroshard::io::JsonObject;
using neuroshard::io::TableFile;
using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

constexpr const char* kTables = R"({"format": "neuroshard-tables", "version": 1, "batch_size": 4096,
 "tables": [
  {"name": "rows", "rows": 40000, "dim": 16, "pooling_factor": 10, "zipf_alpha": 1.05},
  {"name": "columns", "rows": 5000, "dim": 32, "pooling_factor": 3, "zipf_alpha": 0.8},
  {"name": "even", "rows": 700, "dim": 8, "pooling_factor": 1.5},
  {"name": "everywhere", "rows": 10, "dim": 4, "pooling_factor": 1, "zipf_alpha": 0.5}]})";

constexpr const char* kPlan = R"({"format": "neuroshard-plan", "version": 1, "devices": 3,
 "batch_size": 4096, "shards": [
  {"table": 0, "rows": [0, 10000], "columns": [0, 16], "device": 0},
  {"table": 0, "rows": [10000, 40000], "columns": [0, 16], "device": 1},
  {"table": 1, "rows": [0, 5000], "columns": [0, 8], "device": 0},
  {"table": 1, "rows": [0, 5000], "columns": [8, 32], "device": 1},
  {"table": 2, "rows": [0, 700], "columns": [0, 8], "device": 1},
  {"table": 3, "rows": [0, 10], "columns": [0, 4], "device": "all"}]})";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  BOOST_TEST_REQUIRE(place != std::string::npos, from);
  return text.replace(place, from.size(), to);
}

struct Example {
  TemporaryFolder folder;

  [[nodiscard]] Outcome exported(const std::string& output,
                                 const std::vector<std::string>& more = {},
                                 const std::string& tables = kTables,
                                 const std::string& plan = kPlan) const {
    std::vector<std::string> arguments{"export", "--format", "benchmark", "--output"};
    arguments.insert(arguments.end(),
                     {folder.file(output), "--tables", folder.write("tables.json", tables),
                      "--plan", folder.write("plan.json", plan)});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  }

  [[nodiscard]] std::vector<std::string> files_in(const std::string& output) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.file(output))) {
      if (entry.is_directory()) continue;
      names.push_back(entry.path().lexically_relative(folder.file(output)).string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

TableFile tables_of(const std::string& path) {
  const auto read = neuroshard::io::read_tables(path);
  BOOST_TEST_REQUIRE(read.ok(), read.status().message());
  return *read;
}

/// Every bin is within `most` of the other's.
void check_alike(const Table& found, const Table& expected, double most) {
  for (std::size_t bin = 0; bin < found.reuse_histogram.size(); ++bin) {
    const double away = found.reuse_histogram[bin] - expected.reuse_histogram[bin];
    BOOST_TEST(std::abs(away) <= most, expected.name << ", bin " << bin << ": " << away);
  }
}

}  // namespace benchmark_export_suite
using namespace benchmark_export_suite;
}  // namespace

BOOST_AUTO_TEST_SUITE(benchmark_export)

BOOST_AUTO_TEST_CASE(the_folder_has_everything_and_the_same_bytes_twice) {
  const Example example;
  for (const std::string output : {"a", "b", "other"}) {
    const Outcome outcome = example.exported(output, {"--seed", output == "other" ? "2" : "1"});
    BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
    BOOST_TEST(outcome.out.empty());
  }
  const std::vector<std::string> expected{"benchmark.json",
                                          "fused_lookup.py",
                                          "indices/indices.npy",
                                          "indices/lengths.npy",
                                          "indices/offsets.npy",
                                          "plan_data.py",
                                          "pytorch_et/rank-0.json",
                                          "pytorch_et/rank-1.json",
                                          "pytorch_et/rank-2.json",
                                          "rank_0.json",
                                          "rank_1.json",
                                          "rank_2.json",
                                          "run_plan.py"};
  BOOST_TEST(example.files_in("a") == expected, boost::test_tools::per_element());
  for (const std::string& name : expected) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(
          (slurp(example.folder.file("a/" + name)) == slurp(example.folder.file("b/" + name))));
    }
  }
  BOOST_TEST((slurp(example.folder.file("a/indices/indices.npy")) !=
              slurp(example.folder.file("other/indices/indices.npy"))));
  for (const std::string script : {"run_plan.py", "plan_data.py", "fused_lookup.py"}) {
    BOOST_TEST((slurp(example.folder.file("a/" + script)) ==
                slurp(source_file("io/benchmark/" + script))));
  }
}

BOOST_AUTO_TEST_CASE(lookups_are_read_back_as_the_tables_they_were_drawn_for) {
  const Example example;
  BOOST_TEST_REQUIRE(example.exported("made").exit_code == 0);
  const std::string read = example.folder.file("read.json");
  const Outcome outcome =
      run_command({"tables", "import", "--indices", example.folder.file("made/indices"), "--dim",
                   "16", "--output", read});
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  const TableFile found = tables_of(read);
  const TableFile expected = tables_of(example.folder.file("tables.json"));
  BOOST_TEST(found.batch_size.value() == 4096);
  BOOST_TEST_REQUIRE(found.tables.size() == expected.tables.size());
  for (std::size_t index = 0; index < found.tables.size(); ++index) {
    BOOST_TEST(found.tables[index].pooling_factor == expected.tables[index].pooling_factor);
    BOOST_TEST(found.tables[index].rows <= expected.tables[index].rows);
    const double of_a_row = 1.0 / static_cast<double>(expected.tables[index].rows);
    check_alike(found.tables[index], expected.tables[index], std::max(0.01, of_a_row / 2));
  }
}

BOOST_AUTO_TEST_CASE(the_shards_of_a_rank_are_read_back_as_tables) {
  const Example example;
  BOOST_TEST_REQUIRE(example.exported("made").exit_code == 0);
  const TableFile whole = tables_of(example.folder.file("tables.json"));
  const std::string path = example.folder.file("made/rank_1.json");
  const Outcome outcome = run_command({"tables", "summarize", "--tables", path});
  BOOST_TEST(outcome.exit_code == 0, outcome.err);
  const TableFile found = tables_of(path);
  BOOST_TEST(found.batch_size.value() == 4096);
  struct Expected {
    std::size_t table;
    std::int64_t rows;
    std::int32_t dim;
    double pooling_factor;
  };
  const std::vector<Expected> all{
      {0, 30000, 16, 7.5}, {1, 5000, 24, 3}, {2, 700, 8, 1.5}, {3, 10, 4, 1.0 / 3}};
  BOOST_TEST_REQUIRE(found.tables.size() == all.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    BOOST_TEST(found.tables[k].rows == all[k].rows);
    BOOST_TEST(found.tables[k].dim == all[k].dim);
    BOOST_TEST(found.tables[k].pooling_factor == all[k].pooling_factor);
    if (k < 3) check_alike(found.tables[k], whole.tables[all[k].table], 0.02);
  }
  // Of a rank that has but a part of the table on every device.
  BOOST_TEST(tables_of(example.folder.file("made/rank_2.json")).tables.size() == 1U);
}

BOOST_AUTO_TEST_CASE(execution_traces_are_read_back) {
  const Example example;
  BOOST_TEST_REQUIRE(example.exported("made").exit_code == 0);
  const Outcome outcome =
      run_command({"traces", "import", "--pytorch-et", example.folder.file("made/pytorch_et"),
                   "--output", example.folder.file("read")});
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.out.starts_with("3 ranks, 1 step, batch 4,096, exchange fp32\n"));
  const std::string text = slurp(example.folder.file("read/trace.json"));
  const auto document = JsonDocument::parse(text, "trace");
  JsonObject root = document.value().root().object().value();
  const JsonArray ranks = root.array("ranks").value();
  const std::vector<std::int64_t> samples{1365, 1365, 1366};
  const std::vector<std::int64_t> dims{24, 48, 0};
  std::int64_t lookups = 0;
  std::size_t rank = 0;
  for (const auto each : ranks) {
    JsonObject object = each.object().value();
    BOOST_TEST(object.integer("dims").value() == dims[rank]);
    lookups += object.integer("lookups").value();
    std::size_t peer = 0;
    const JsonArray forward = object.array("forward_bytes").value();
    for (const auto bytes : forward) {
      BOOST_TEST(bytes.integer().value() == samples[peer++] * dims[rank] * 4);
    }
    peer = 0;
    const JsonArray backward = object.array("backward_bytes").value();
    for (const auto bytes : backward) {
      BOOST_TEST(bytes.integer().value() == samples[rank] * dims[peer++] * 4);
    }
    ++rank;
  }
  // Of row shards each its part, of column shards both all.
  BOOST_TEST(lookups == 4096 * 10 + 2 * 4096 * 3 + 4096 * 3 / 2);
}

BOOST_AUTO_TEST_CASE(what_a_benchmark_cannot_carry_is_refused) {
  const Example example;
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& message) {
    const Outcome outcome = example.exported("x", {}, changed(kTables, from, to));
    BOOST_TEST(outcome.exit_code == 2);  // the cost model may have said that it guesses
    BOOST_TEST(outcome.err.find(message) != std::string::npos, outcome.err);
  };
  const std::string rows = R"("rows": 5000,)";
  refused(rows, rows + R"( "data_type": "int8",)", "table 1 (columns): found int8, expected");
  refused(rows, rows + R"( "data_type": "bf16",)", "table 1 (columns): found bf16, expected");
  refused(rows, rows + R"( "features": 2,)", "table 1 (columns): found 2 features, expected");
  refused(rows, rows + R"( "weighted": true,)", "found lookups with weights, expected");
  refused(rows, rows + R"( "pooled": false,)", "found lookups that are not pooled, expected");
  const auto refused_plan = [&](const std::string& from, const std::string& to,
                                const std::string& message) {
    const std::string plan = changed(changed(kPlan, from, to), "[8, 32]", "[10, 32]");
    expect_one_line(example.exported("x", {}, kTables, plan), 2, message);
  };
  refused_plan("[0, 8]", "[0, 10]", "table 1 (columns): found a shard of 10 columns, expected");
  expect_one_line(example.exported("x", {}, kTables,
                                   changed(kPlan, R"("batch_size": 4096,)",
                                           R"("batch_size": 4096, "exchange": {"forward": "fp8",)"
                                           R"( "backward": "fp16"},)")),
                  2, "exchange: found fp8,fp16, expected fp32, fp16 or bf16");
  BOOST_TEST(!std::filesystem::exists(example.folder.file("x")));
}

BOOST_AUTO_TEST_CASE(flags_without_a_place_are_told) {
  const Example example;
  const Outcome steps = example.exported("made", {"--steps", "2"});
  BOOST_TEST(steps.exit_code == 0);
  BOOST_TEST(steps.err == "--steps: benchmark has no place for it\n");
  const Outcome seed =
      run_command({"export", "--tables", example.folder.file("tables.json"), "--plan",
                   example.folder.file("plan.json"), "--format", "csv", "--seed", "2"});
  BOOST_TEST(seed.exit_code == 0);
  BOOST_TEST(seed.err == "--seed: csv has no place for it\n");
}

BOOST_AUTO_TEST_SUITE_END()
