// Execution traces of a plan's steps, read back by the real command.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "io/cost_data/collection.h"
#include "io/json/json.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"

namespace {

using neuroshard::io::JsonArray;
using neuroshard::io::JsonDocument;
using neuroshard::io::JsonObject;
using neuroshard::test::expect_one_line;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

/// Three steps of a plan on four devices of which no two send alike, as traces.
struct ExportedTraces {
  TemporaryFolder folder;
  std::string plan = folder.file("plan.json");
  std::string traces = folder.file("traces");

  ExportedTraces() {
    const std::string tables = source_file("examples/dlrm_dcnv2.json");
    const Outcome made =
        run_command({"plan", "--tables", tables, "--devices", "4", "--device-memory", "80GB",
                     "--algorithm", "size-greedy", "--output", plan});
    BOOST_TEST_REQUIRE(made.exit_code == 0, made.err);
    const Outcome written = run_command({"export", "--tables", tables, "--plan", plan, "--format",
                                         "chakra", "--steps", "3", "--output", traces});
    BOOST_TEST_REQUIRE(written.exit_code == 0, written.err);
  }

  [[nodiscard]] Outcome imported(const std::string& output) const {
    return run_command({"traces", "import", "--chakra", traces, "--output", folder.file(output)});
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(traces_import)

BOOST_AUTO_TEST_CASE(what_export_writes_is_recovered_exactly) {
  const ExportedTraces example;
  const Outcome outcome = example.imported("read");
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.out.starts_with("4 ranks, 3 steps, batch 65,536, exchange fp32\n"));
  BOOST_TEST(outcome.out.find("not in these traces: rows of each table") != std::string::npos);

  const std::string plan_text = slurp(example.plan);
  const auto plan = JsonDocument::parse(plan_text, "plan");
  const std::string trace_text = slurp(example.folder.file("read/trace.json"));
  const auto trace = JsonDocument::parse(trace_text, "trace");
  JsonObject plan_root = plan.value().root().object().value();
  JsonObject root = trace.value().root().object().value();
  BOOST_TEST(root.format("neuroshard-trace", 1).ok());
  BOOST_TEST(root.integer("steps").value() == 3);
  BOOST_TEST(root.integer("batch_size").value() == 65536);
  std::vector<std::int64_t> dims;
  std::vector<double> compute_ms;
  const JsonArray devices = plan_root.array("per_device").value();
  for (const auto device : devices) {
    JsonObject object = device.object().value();
    dims.push_back(object.integer("dim_sum").value());
    compute_ms.push_back(object.number("compute_ms").value());
  }
  std::size_t rank = 0;
  const JsonArray ranks = root.array("ranks").value();
  for (const auto each : ranks) {
    JsonObject object = each.object().value();
    BOOST_TEST(object.integer("dims").value() == dims.at(rank));
    const auto up = [&](double share) { return std::ceil(1e3 * share * compute_ms[rank]) / 1e3; };
    BOOST_TEST(object.number("forward_ms").value() == up(1.0 / 3));
    BOOST_TEST(object.number("backward_ms").value() == up(1 - 1.0 / 3));
    std::size_t peer = 0;
    const JsonArray sent_forward = object.array("forward_bytes").value();
    for (const auto bytes : sent_forward) {
      const std::int64_t sent = peer == rank ? 0 : 65536 / 4 * dims[rank] * 4;
      BOOST_TEST(bytes.integer().value() == sent);
      ++peer;
    }
    peer = 0;
    const JsonArray sent_backward = object.array("backward_bytes").value();
    for (const auto bytes : sent_backward) {
      const std::int64_t sent = peer == rank ? 0 : 65536 / 4 * dims[peer] * 4;
      BOOST_TEST(bytes.integer().value() == sent);
      ++peer;
    }
    BOOST_TEST(peer == 4U);
    ++rank;
  }
  BOOST_TEST(rank == 4U);
}

BOOST_AUTO_TEST_CASE(a_profile_of_known_tables_is_data_to_train_on) {
  const TemporaryFolder folder;
  std::string tables =
      R"({"format": "neuroshard-tables", "version": 1, "batch_size": 128, "tables": [)";
  const std::vector<int> dims{16, 32, 64, 16};
  const std::vector<int> lookups{1, 4, 2, 4};  // rank 0 looks up 3 rows a sample, rank 1 8
  for (std::size_t k = 0; k < dims.size(); ++k) {
    tables += (k == 0 ? "" : ",") + std::string(R"({"name": "t)") + std::to_string(k) +
              R"(", "rows": )" + std::to_string(1000 * (k + 1)) + R"(, "dim": )" +
              std::to_string(dims[k]) + R"(, "pooling_factor": )" + std::to_string(lookups[k]) +
              R"(, "zipf_alpha": 1})";
  }
  folder.write("tables.json", tables + "]}");
  const auto shard = [](int table, int dim, int device) {
    return R"({"table": )" + std::to_string(table) + R"(, "rows": [0, )" +
           std::to_string(1000 * (table + 1)) + R"(], "columns": [0, )" + std::to_string(dim) +
           R"(], "device": )" + std::to_string(device) + "}";
  };
  const auto plan = [&](int first) {
    return R"({"format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": 128, "shards": [)" +
           shard(0, 16, first) + "," + shard(1, 32, 1) + "," + shard(2, 64, 0) + "," +
           shard(3, 16, 1) + "]}";
  };
  folder.write("plan.json", plan(0));
  const auto import = [&](const std::string& output) {
    return run_command({"traces", "import", "--kineto",
                        source_file("tests/fuzz/corpus/kineto_trace"), "--tables",
                        folder.file("tables.json"), "--plan", folder.file("plan.json"), "--output",
                        folder.file(output)});
  };
  const Outcome outcome = import("read");
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.out.find("2 samples in ") != std::string::npos, outcome.out);
  BOOST_TEST(outcome.out.find("measured on a CPU by a trainer's trace") != std::string::npos);
  const auto data = neuroshard::io::read_compute_directory(folder.file("read/compute"));
  BOOST_TEST_REQUIRE(data.ok(), data.status().message());
  BOOST_TEST(data->samples.size() == 2u);
  BOOST_TEST((data->samples[0].tables == std::vector<std::int32_t>{0, 2}));
  BOOST_TEST(data->samples[0].cost_ms == 0.1338035 + 0.103977, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(data->collection.batch_size == 128);
  folder.write("plan.json", plan(1));
  expect_one_line(import("other"), 2, "rank 0: found 64 columns in the plan, expected 80");
  BOOST_TEST(!std::filesystem::exists(folder.file("other")));
}

BOOST_AUTO_TEST_CASE(a_profile_whose_kernels_name_no_operator_has_no_times) {
  const TemporaryFolder folder;
  std::string text = slurp(source_file("tests/fuzz/corpus/kineto_trace/gloo_0.json"));
  const std::string kernel =
      R"({"ph": "X", "cat": "kernel", "name": "forward", "ts": 1, "dur": 2, "args": {}},)";
  const std::string begin = "\"traceEvents\": [";
  BOOST_TEST_REQUIRE(text.find(begin) != std::string::npos);
  text.insert(text.find(begin) + begin.size(), kernel);
  std::filesystem::create_directory(folder.file("profiles"));
  folder.write("profiles/gloo_0.json", text);
  folder.write("profiles/gloo_1.json",
               slurp(source_file("tests/fuzz/corpus/kineto_trace/gloo_1.json")));
  const Outcome outcome = run_command(
      {"traces", "import", "--kineto", folder.file("profiles"), "--output", folder.file("read")});
  BOOST_TEST_REQUIRE(outcome.exit_code == 0, outcome.err);
  BOOST_TEST(outcome.err.find("no times of lookups of rank 0: no GPU kernel names an operator") !=
                 std::string::npos,
             outcome.err);
  const std::string trace = slurp(folder.file("read/trace.json"));
  BOOST_TEST(trace.find("forward_ms") > trace.find("\"rank\": 1"));
}

BOOST_AUTO_TEST_CASE(flags_that_do_not_go_together_are_refused) {
  const TemporaryFolder folder;
  const std::string traces = source_file("tests/fuzz/corpus/kineto_trace");
  const auto refused = [&](std::vector<std::string> words, const std::string& line) {
    words.insert(words.begin(), {"traces", "import", "--output", folder.file("x")});
    expect_one_line(run_command(words), 2, line);
  };
  refused({}, "found neither --chakra nor --pytorch-et or --kineto");
  refused({"--kineto", traces, "--chakra", traces}, "found both --chakra and");
  refused({"--kineto", traces, "--batch-size", "8"}, "--batch-size: found with --kineto");
  refused({"--kineto", traces, "--plan", traces}, "--plan: found without --tables");
  refused({"--pytorch-et", traces, "--plan", traces, "--tables", traces},
          "--tables: found without --kineto");
}

BOOST_AUTO_TEST_CASE(what_is_no_complete_set_of_traces_is_refused) {
  const ExportedTraces example;
  namespace fs = std::filesystem;
  const fs::path traces = example.traces;
  expect_one_line(run_command({"traces", "import", "--chakra", example.plan, "--output",
                               example.folder.file("x")}),
                  2, "plan.json: cannot read the folder");
  expect_one_line(run_command({"traces", "import", "--chakra", example.folder.path().string(),
                               "--output", example.folder.file("x")}),
                  2, "found no file *.et");
  fs::copy_file(traces / "step.0.et", traces / "other.0.et");
  expect_one_line(example.imported("x"), 2,
                  "found two files of rank 0, 'other.0.et' and 'step.0.et'");
  fs::remove(traces / "other.0.et");
  fs::rename(traces / "step.1.et", traces / "step.9.et");
  expect_one_line(example.imported("x"), 2,
                  "found no file of rank 1, expected one of each up to 9");
  fs::rename(traces / "step.9.et", traces / "step.1.et");
  fs::resize_file(traces / "step.2.et", fs::file_size(traces / "step.2.et") - 1);
  expect_one_line(example.imported("x"), 2, "step.2.et: byte");
  fs::resize_file(traces / "step.2.et", 0);
  expect_one_line(example.imported("x"), 2, "step.2.et: byte 0: found the end");
  fs::remove(traces / "step.2.et");
  fs::remove(traces / "step.3.et");
  expect_one_line(example.imported("x"), 2, "expected one below 2, of which there are files");
  BOOST_TEST(!fs::exists(example.folder.file("x")));
}

BOOST_AUTO_TEST_SUITE_END()
