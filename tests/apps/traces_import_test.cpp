// Execution traces of a plan's steps, read back by the real command.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

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
