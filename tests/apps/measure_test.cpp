// `neuroshard measure` on this machine's CPU: the documented JSON, what people see, and bad usage.
#include <algorithm>
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "io/sha256.h"
#include "tests/apps/process.h"

namespace {

namespace json = boost::json;
using neuroshard::test::Outcome;
using neuroshard::test::Process;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::TemporaryFolder;

/// Four small tables on two devices.
struct SmallPlan {
  TemporaryFolder folder;
  std::string pool = folder.file("pool.json");
  std::string plan = folder.file("plan.json");

  SmallPlan() {
    const Outcome tables = run_command({"tables", "generate", "--count", "4", "--seed", "368",
                                        "--dims", "8", "--batch-size", "4096", "--output", pool});
    BOOST_REQUIRE_MESSAGE(tables.exit_code == 0, tables.err);
    const Outcome planned =
        run_command({"plan", "--tables", pool, "--devices", "2", "--device-memory", "1GiB",
                     "--algorithm", "size-greedy", "--output", plan});
    BOOST_REQUIRE_MESSAGE(planned.exit_code == 0, planned.err);
  }

  [[nodiscard]] Outcome measure(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"measure", "--tables", pool,        "--plan", plan,
                                       "--runs",  "1",        "--threads", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(measure)

BOOST_AUTO_TEST_CASE(what_is_measured_and_what_is_predicted_is_said) {
  const SmallPlan small;
  const Outcome outcome = small.measure(
      {"--backend", "cpu", "--cost-model", "h200_sim", "--seed", "5", "--output", "-"});
  BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const json::object report = json::parse(outcome.out).as_object();
  std::set<std::string> keys;
  for (const auto& member : report) keys.emplace(member.key());
  const std::set<std::string> documented{"format",
                                         "version",
                                         "backend",
                                         "hardware",
                                         "conditions",
                                         "batch_size",
                                         "devices",
                                         "runs",
                                         "seed",
                                         "plan_sha256",
                                         "tables_sha256",
                                         "compute",
                                         "communication",
                                         "cost_model",
                                         "cost_model_hardware",
                                         "cost_model_provenance",
                                         "cost_ms",
                                         "per_device",
                                         "predicted_cost_ms",
                                         "predicted_per_device"};
  BOOST_TEST(keys == documented, boost::test_tools::per_element());
  BOOST_TEST(report.at("format").as_string() == "neuroshard-measurement");
  BOOST_TEST(report.at("batch_size").as_int64() == 4096);
  BOOST_TEST(report.at("devices").as_int64() == 2);
  BOOST_TEST(report.at("runs").as_int64() == 1);
  BOOST_TEST(report.at("seed").as_int64() == 5);
  const std::string plan = slurp(small.plan);
  BOOST_TEST(report.at("tables_sha256").as_string() ==
             json::parse(plan).at("provenance").at("input_sha256").as_string());
  BOOST_TEST(report.at("plan_sha256").as_string() == neuroshard::io::sha256_hex(plan));
  BOOST_TEST(report.at("communication").as_string() == "measured");
  BOOST_TEST(report.at("cost_model_provenance").as_string() == "simulated");
  double slowest = 0;
  for (const json::value& device : report.at("per_device").as_array()) {
    BOOST_TEST(device.at("compute_ms").to_number<double>() > 0);
    slowest = std::max(slowest, device.at("total_ms").to_number<double>());
  }
  BOOST_TEST(report.at("per_device").as_array().size() == 2u);
  BOOST_TEST(report.at("cost_ms").to_number<double>() == slowest,
             boost::test_tools::tolerance(1e-9));

  const Outcome shown = small.measure({"--backend", "cpu"});
  BOOST_TEST(shown.exit_code == 0);
  BOOST_TEST(shown.out.find("communication measured") != std::string::npos);
  BOOST_TEST(shown.out.find("predicted") == std::string::npos);
  BOOST_TEST(shown.out.find("\nbatch 4,096, median of 1 run\n") != std::string::npos, shown.out);
}

BOOST_AUTO_TEST_CASE(hot_rows_run_on_ranks_that_are_threads) {
  const SmallPlan small;
  std::string text = slurp(small.plan);
  const std::size_t shards = text.find("  \"per_device\"");
  BOOST_REQUIRE(shards != std::string::npos);
  text.insert(shards, "  \"hot_rows\": [{\"table\": 1, \"rows\": 5}],\n");
  std::ofstream(small.plan) << text;
  const Outcome outcome = small.measure({"--backend", "cpu", "--output", "-"});
  BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const json::object report = json::parse(outcome.out).as_object();
  BOOST_TEST(report.at("communication").as_string() == "measured");
  BOOST_TEST(report.at("cost_ms").to_number<double>() > 0);
  // Each of two ranks adds up half of the gradients of 5 rows of 8 columns, and gets the other
  // half.
  BOOST_TEST(json::serialize(report.at("reduced_bytes")) == "[160,160]");
  BOOST_TEST(report.at("exchanged_bytes").as_array().size() == 2U);
  const Outcome shown = small.measure({"--backend", "cpu"});
  BOOST_TEST(shown.out.find("between ranks, a step: ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(plans_of_trainers_are_measured_as_they_are) {
  const SmallPlan small;
  const auto measured = [&](const std::string& file) {
    const Outcome outcome =
        run_command({"measure", "--tables", small.pool, "--plan", file, "--runs", "1", "--threads",
                     "1", "--backend", "cpu", "--cost-model", "h200_sim", "--output", "-"});
    BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return json::parse(outcome.out);
  };
  const json::value native = measured(small.plan);
  for (const std::string format : {"torchrec", "hugectr"}) {
    const std::string plan = small.folder.file(format + ".json");
    const Outcome exported = run_command({"export", "--tables", small.pool, "--plan", small.plan,
                                          "--format", format, "--output", plan});
    BOOST_REQUIRE_MESSAGE(exported.exit_code == 0, exported.err);
    BOOST_TEST(measured(plan).at("predicted_per_device") == native.at("predicted_per_device"));
  }
  const std::string bare =
      small.folder.write("bare.json", R"({"plan": {"": {"table_0": {"sharding_type": "table_wise",
        "compute_kernel": "fused", "ranks": [0], "shards": [{"shard_offsets": [0, 0],
        "shard_sizes": [10, 8], "placement": "rank:0/cuda:0"}]}}}})");
  const Outcome unknown =
      run_command({"measure", "--tables", small.pool, "--plan", bare, "--backend", "cpu"});
  BOOST_TEST(unknown.exit_code == 2);
  BOOST_TEST(unknown.err.find("found no number of devices") != std::string::npos, unknown.err);
}

BOOST_AUTO_TEST_CASE(bad_usage_is_one_line) {
  const SmallPlan small;
  const Outcome simulated = small.measure({"--backend", "sim"});
  BOOST_TEST(simulated.exit_code == 2);
  const Outcome threads = small.measure({"--backend", "cuda"});
  BOOST_TEST(threads.exit_code == 2);
  BOOST_TEST(threads.err.find("--threads") != std::string::npos);
  const Outcome missing =
      run_command({"measure", "--tables", small.pool, "--plan", "nowhere", "--backend", "cpu"});
  BOOST_TEST(missing.exit_code == 2);
  BOOST_TEST(missing.err.find("nowhere") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(plans_with_tables_in_host_memory_are_refused) {
  const SmallPlan small;
  std::string text = slurp(small.plan);
  const std::string after = "  \"per_device\"";
  BOOST_REQUIRE(text.find(after) != std::string::npos);
  text.insert(text.find(after),
              R"(  "offloaded": [{"table": 2, "compute_kernel": "fused_uvm"}],
)");
  std::ofstream(small.plan) << text;
  for (const std::string backend : {"cpu", "cuda"}) {
    const Outcome refused = run_command(
        {"measure", "--tables", small.pool, "--plan", small.plan, "--backend", backend});
    BOOST_TEST(refused.exit_code == 2);
    BOOST_TEST(refused.out.empty());
    BOOST_TEST(refused.err == "neuroshard measure: " + small.plan +
                                  ": offloaded: table 2 is in host memory: kernels are measured "
                                  "with all weights on the devices\n");
  }
}

BOOST_AUTO_TEST_CASE(gpus_of_several_processes_need_a_launcher_and_one_process_each) {
  const TemporaryFolder folder;
  const std::string data = folder.file("data");
  const Outcome alone =
      run_command({"collect", "comm", "--backend", "cuda", "--devices", "4", "--output", data});
  BOOST_TEST(alone.exit_code == 2);
  BOOST_TEST(alone.err.find("found 1 process, expected 4, one a GPU") != std::string::npos);
  BOOST_TEST(!std::filesystem::exists(data));

  const SmallPlan small;
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "3", 1);
  const Outcome three =
      run_command({"measure", "--tables", small.pool, "--plan", small.plan, "--backend", "cuda"});
  ::setenv("WORLD_SIZE", "three", 1);
  const Outcome words = run_command({"collect", "comm", "--backend", "cuda", "--output", data});
  ::unsetenv("RANK");
  ::unsetenv("WORLD_SIZE");
  BOOST_TEST(three.exit_code == 2);
  BOOST_TEST(three.err.find("found 3 processes for a plan of 2 devices") != std::string::npos);
  BOOST_TEST(words.exit_code == 2);
  BOOST_TEST(words.err.find("WORLD_SIZE: found 'three'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_interrupted_measurement_ends_at_once) {
  const SmallPlan small;  // of which half a measurement is worth nothing
  Process process({NEUROSHARD_COMMAND, "measure", "--tables", small.pool, "--plan", small.plan,
                   "--batch-size", "131072", "--runs", "1000", "--backend", "cpu"},
                  {});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  process.send_signal(SIGINT);
  BOOST_TEST(process.wait().exit_code == 128 + SIGINT);
}

BOOST_AUTO_TEST_SUITE_END()
