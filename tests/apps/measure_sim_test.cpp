// `neuroshard measure --backend sim`: a plan's cost by the simulator itself.
#include <algorithm>
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/apps/process.h"
#include "tests/apps/unknown_hardware.h"

namespace {

namespace json = boost::json;
using neuroshard::test::Outcome;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::TemporaryFolder;

/// Two tables of which one is on both devices and one is cut by rows.
struct Written {
  TemporaryFolder folder;
  std::string tables = folder.write("tables.json", R"({"format": "neuroshard-tables", "version": 1,
    "batch_size": 65536, "tables": [
    {"name": "a", "rows": 5000, "dim": 16, "pooling_factor": 3, "data_type": "fp16"},
    {"name": "b", "rows": 100000, "dim": 32, "pooling_factor": 10, "data_type": "fp16",
     "zipf_alpha": 1.05}]})");
  std::string plan = folder.write("plan.json", R"({"format": "neuroshard-plan", "version": 1,
    "devices": 2, "batch_size": 65536, "shards": [
    {"table": 0, "rows": [0, 5000], "columns": [0, 16], "device": "all"},
    {"table": 1, "rows": [0, 50000], "columns": [0, 32], "device": 0},
    {"table": 1, "rows": [50000, 100000], "columns": [0, 32], "device": 1}]})");

  [[nodiscard]] Outcome measure(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"measure", "--tables",  tables, "--plan",
                                       plan,      "--backend", "sim"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  }
};

/// 20 tables on so many devices.
struct Generated {
  TemporaryFolder folder;
  std::string tables = folder.file("pool.json");
  std::string plan = folder.file("plan.json");

  explicit Generated(const std::string& devices) {
    BOOST_REQUIRE(
        run_command({"tables", "generate", "--count", "20", "--seed", "1", "--output", tables})
            .exit_code == 0);
    BOOST_REQUIRE(run_command({"plan", "--tables", tables, "--devices", devices, "--device-memory",
                               "80GB", "--algorithm", "size-greedy", "--output", plan})
                      .exit_code == 0);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(measure_sim)

BOOST_AUTO_TEST_CASE(replicas_and_row_shards_of_half_precision_are_costed) {
  const Written written;
  const Outcome outcome = written.measure({"--profile", "V100-32G+nvswitch", "--output", "-"});
  BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const json::object report = json::parse(outcome.out).as_object();
  BOOST_TEST(report.at("format").as_string() == "neuroshard-measurement");
  BOOST_TEST(report.at("backend").as_string() == "sim");
  BOOST_TEST(report.at("hardware").as_string() == "V100-32G, nvswitch (simulated)");
  BOOST_TEST(report.at("compute").as_string() == "simulated");
  BOOST_TEST(report.at("communication").as_string() == "simulated");
  BOOST_TEST(!report.contains("predicted_cost_ms"));
  double slowest = 0;
  for (const json::value& device : report.at("per_device").as_array()) {
    BOOST_TEST(device.at("compute_ms").to_number<double>() > 0);
    BOOST_TEST(device.at("dim_sum").as_int64() == 48);
    slowest = std::max(slowest, device.at("total_ms").to_number<double>());
  }
  BOOST_TEST(report.at("cost_ms").to_number<double>() == slowest);
  BOOST_TEST(written.measure({"--profile", "V100-32G", "--output", "-"}).out == outcome.out);

  const Outcome shown = written.measure({"--profile", "V100-32G"});
  BOOST_TEST(shown.out.find("compute and communication SIMULATED for V100-32G, nvswitch\n"
                            "NVIDIA V100 SXM2 32 GB; calibrated: docs/VALIDATION.md says to what\n"
                            "batch 65,536\n") == 0u,
             shown.out);
  BOOST_TEST(shown.out.find("(simulated)\n") != std::string::npos, shown.out);
  BOOST_TEST(shown.out.find("measured") == std::string::npos, shown.out);
}

BOOST_AUTO_TEST_CASE(a_cost_model_s_prediction_stands_beside) {
  const Generated made("4");
  const Outcome outcome =
      run_command({"measure", "--tables", made.tables, "--plan", made.plan, "--backend", "sim",
                   "--profile", "A100-80G", "--cost-model", "a100_sim", "--output", "-"});
  BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const json::object report = json::parse(outcome.out).as_object();
  BOOST_TEST(report.at("cost_model").as_string() == "a100_sim");
  // What the model was trained on: it is to know that within some percent.
  BOOST_TEST(report.at("predicted_cost_ms").to_number<double>() ==
                 report.at("cost_ms").to_number<double>(),
             boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(hosts_are_the_profile_s_or_as_said) {
  const Written written;
  const auto cost = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--profile", "H100-80G+cluster", "--output", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = written.measure(arguments);
    BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return json::parse(outcome.out).at("cost_ms").to_number<double>();
  };
  BOOST_TEST(cost({"--devices-per-host", "1"}) > cost({}));
  BOOST_TEST(cost({"--devices-per-host", "2"}) == cost({}));
  const Outcome one_host = written.measure({"--profile", "H100-80G", "--devices-per-host", "1"});
  BOOST_TEST(one_host.exit_code == 2);
  BOOST_TEST(one_host.err.find("H100-80G+cluster") != std::string::npos, one_host.err);
}

BOOST_AUTO_TEST_CASE(hosts_and_calibration_are_in_the_file) {
  const Written written;
  const auto report = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--output", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = written.measure(arguments);
    BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return json::parse(outcome.out).as_object();
  };
  const json::object calibrated = report({"--profile", "V100-32G"});
  BOOST_TEST(calibrated.at("simulation").as_string() == "calibrated");
  BOOST_TEST(calibrated.at("devices_per_host").as_int64() == 2);
  const json::object hosts = report({"--profile", "B200-180G+cluster", "--devices-per-host", "1"});
  BOOST_TEST(!hosts.contains("simulation"));  // by physics from its data sheet
  BOOST_TEST(hosts.at("devices_per_host").as_int64() == 1);
}

BOOST_AUTO_TEST_CASE(a_host_has_no_more_devices_than_the_plan) {
  const Written written;
  for (const char* profile : {"H100-80G", "H100-80G+cluster"}) {
    const Outcome outcome = written.measure({"--profile", profile, "--devices-per-host", "3"});
    BOOST_TEST(outcome.exit_code == 2);
    BOOST_TEST(outcome.err.find("found 3, expected at most the 2 devices") != std::string::npos,
               outcome.err);
  }
}

/// A host holds 8 devices: 16 take the links between hosts, unless others are asked for.
BOOST_AUTO_TEST_CASE(many_devices_are_several_hosts_by_default) {
  const Generated made("16");
  const auto measure = [&](const std::string& profile) {
    return run_command({"measure", "--tables", made.tables, "--plan", made.plan, "--backend", "sim",
                        "--profile", profile, "--output", "-"});
  };
  const Outcome by_default = measure("H100-80G");
  BOOST_TEST(
      by_default.err.find("hosts have 8 devices, 16 take its cluster links") != std::string::npos,
      by_default.err);
  BOOST_TEST(by_default.out == measure("H100-80G+cluster").out);
  const Outcome one_host = measure("H100-80G+nvswitch");
  BOOST_TEST(one_host.err.empty(), one_host.err);
  BOOST_TEST(json::parse(one_host.out).at("devices_per_host").as_int64() == 16);
  BOOST_TEST(json::parse(by_default.out).at("devices_per_host").as_int64() == 8);
}

/// Networks of hardware that nobody has described know no tables on every device, the simulator
/// does.
BOOST_AUTO_TEST_CASE(what_a_cost_model_does_not_know_is_simulated_all_the_same) {
  const Written written;
  const std::string model =
      written.folder.write("own.safetensors", neuroshard::test::unknown_hardware(2));
  const Outcome without = written.measure({"--profile", "H200-141G", "--output", "-"});
  const Outcome with =
      written.measure({"--profile", "H200-141G", "--cost-model", model, "--output", "-"});
  BOOST_TEST(with.exit_code == 0);
  BOOST_TEST(with.out == without.out);
  BOOST_TEST(with.err.find("no cost predicted by own.safetensors: ") != std::string::npos,
             with.err);
  for (const std::string name : {"torchrec", "h200_sim"}) {
    const Outcome known =
        written.measure({"--profile", "H200-141G", "--cost-model", name, "--output", "-"});
    BOOST_REQUIRE_MESSAGE(known.exit_code == 0, known.err);
    BOOST_TEST(json::parse(known.out).as_object().contains("predicted_cost_ms"));
  }
}

BOOST_AUTO_TEST_CASE(bad_usage_is_one_line) {
  const Written written;
  const std::string output = written.folder.file("never.json");
  const auto refusal = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--output", output};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = written.measure(arguments);
    BOOST_TEST(outcome.exit_code == 2);
    BOOST_TEST(outcome.out.empty());
    BOOST_TEST(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1, outcome.err);
    BOOST_TEST(!std::filesystem::exists(output));
    return outcome.err;
  };
  BOOST_TEST(refusal({}).find("found no --profile") != std::string::npos);
  BOOST_TEST(refusal({"--profile", "H300"}).find("'H300' is unknown") != std::string::npos);
  BOOST_TEST(refusal({"--profile", "V100-32G", "--runs", "3"}).find("--runs") != std::string::npos);
  BOOST_TEST(refusal({"--profile", "V100-32G", "--seed", "3"}).find("--seed") != std::string::npos);
  BOOST_TEST(refusal({"--profile", "V100-32G", "--threads", "3"}).find("--threads") !=
             std::string::npos);
  const Outcome cpu = run_command({"measure", "--tables", written.tables, "--plan", written.plan,
                                   "--backend", "cpu", "--profile", "V100-32G"});
  BOOST_TEST(cpu.exit_code == 2);
  BOOST_TEST(cpu.err.find("--profile") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
