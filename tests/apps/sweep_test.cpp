// Plans for clusters of several sizes: what fits, what a step costs on each, and what pays.
#include <algorithm>
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/cost_model/cost_model_file.h"
#include "tests/apps/json_output.h"
#include "tests/apps/one_line.h"
#include "tests/apps/process.h"
#include "tests/cost_model/random_models.h"

namespace {

namespace json = boost::json;
using neuroshard::test::expect_one_line;
using neuroshard::test::Keys;
using neuroshard::test::keys_of;
using neuroshard::test::Outcome;
using neuroshard::test::parsed;
using neuroshard::test::run_command;
using neuroshard::test::slurp;
using neuroshard::test::source_file;
using neuroshard::test::TemporaryFolder;

const std::string kSweptTables = source_file("examples/dlrm_dcnv2.json");

/// A sweep over the example's 26 tables, 97.4 GiB, that gives the same plans on every machine.
Outcome swept(const std::string& devices, const std::string& memory,
              const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"sweep", "--tables",        kSweptTables, "--devices",
                                     devices, "--device-memory", memory};
  arguments.insert(arguments.end(), {"--evaluations", "1000"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

json::array clusters_in(const Outcome& outcome) {
  return parsed(outcome.out).at("clusters").as_array();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sweep)

BOOST_AUTO_TEST_CASE(each_cluster_costs_what_plan_says_that_it_costs) {
  const std::vector<std::vector<std::string>> searches{
      {"--seed", "3"},
      {"--cost-model", "torchrec", "--devices-per-host", "2", "--row-splits", "any",
       "--data-parallel", "on", "--bandwidths", "2000,450,25", "--batch-size", "8192"},
      {"--algorithm", "dim-greedy", "--cost-model", "a100_sim"},
      {"--target", "hugectr", "--seed", "2"},
      {"--target", "torchrec", "--row-splits", "even"}};
  for (std::vector<std::string> search : searches) {
    search.insert(search.end(), {"--output", "-"});
    const json::array clusters = clusters_in(swept("4,8", "80GB", search));
    BOOST_TEST_REQUIRE(clusters.size() == 2U);
    for (const json::value& cluster : clusters) {
      const std::string devices = std::to_string(cluster.at("devices").as_int64());
      std::vector<std::string> arguments{"plan",      "--tables",      kSweptTables,
                                         "--devices", devices,         "--device-memory",
                                         "80GB",      "--evaluations", "1000"};
      arguments.insert(arguments.end(), search.begin(), search.end());
      const json::object plan = parsed(run_command(arguments).out);
      const double cost_ms = plan.at("cost_ms").to_number<double>();
      BOOST_TEST(cluster.at("cost_ms").to_number<double>() == cost_ms);
      BOOST_TEST(cluster.at("device_ms").to_number<double>() ==
                     cost_ms * cluster.at("devices").to_number<double>(),
                 boost::test_tools::tolerance(1e-12));
      BOOST_TEST(cluster.at("shards").to_number<std::size_t>() ==
                 plan.at("shards").as_array().size());
      std::int64_t fullest = 0;
      for (const json::value& device : plan.at("per_device").as_array()) {
        fullest = std::max(fullest, device.at("memory_bytes").as_int64());
      }
      BOOST_TEST(cluster.at("memory_bytes").as_int64() == fullest);
    }
  }
}

BOOST_AUTO_TEST_CASE(clusters_are_sorted_and_repeat_but_for_their_seconds) {
  const auto rows = [](const std::string& threads) {
    const Outcome outcome = swept("8,4", "80GB,40GB", {"--threads", threads, "--output", "-"});
    BOOST_TEST(outcome.exit_code == 0);
    BOOST_TEST(outcome.err.empty(), outcome.err);
    json::array clusters = clusters_in(outcome);
    for (json::value& cluster : clusters) cluster.as_object().erase("seconds");
    return clusters;
  };
  const json::array clusters = rows("1");
  BOOST_TEST((clusters == rows("2")));
  BOOST_TEST_REQUIRE(clusters.size() == 4U);
  for (std::size_t index = 0; index < 4; ++index) {
    BOOST_TEST(clusters[index].at("devices").as_int64() == (index < 2 ? 4 : 8));
    BOOST_TEST(clusters[index].at("device_memory_bytes").as_int64() ==
               (index % 2 == 0 ? 40'000'000'000 : 80'000'000'000));
    BOOST_TEST(!clusters[index].at("stopped_early").as_bool());
  }
}

BOOST_AUTO_TEST_CASE(a_cluster_that_is_too_small_is_a_row_that_says_what_would_do) {
  const TemporaryFolder folder;
  const std::string file = folder.file("sweep.json");
  const Outcome shown = swept("2,4", "40GB", {"--output", file});
  BOOST_TEST(shown.exit_code == 0);
  BOOST_TEST(shown.err.empty(), shown.err);
  BOOST_TEST(shown.out.find("no plan on 2 x 37.3 GiB: 26 tables need 97.4 GiB") !=
             std::string::npos);
  BOOST_TEST(shown.out.find("1 more device would do") != std::string::npos, shown.out);
  const json::object report = parsed(slurp(file));
  BOOST_TEST((keys_of(report) == Keys{"cost_model", "hardware", "cost_provenance", "batch_size",
                                      "tables", "clusters"}));
  BOOST_TEST(report.at("cost_provenance").as_string() == "simulated");
  BOOST_TEST(report.at("tables").as_int64() == 26);
  const json::array& clusters = report.at("clusters").as_array();
  const Keys common{"devices",       "device_memory_bytes",
                    "feasible",      "cost_ms",
                    "device_ms",     "memory_bytes",
                    "shards",        "seconds",
                    "stopped_early", "pareto"};
  Keys refused = common;
  refused.insert("refusal");
  BOOST_TEST((keys_of(clusters[0]) == refused));
  BOOST_TEST(clusters[0].at("cost_ms").is_null());
  BOOST_TEST((keys_of(clusters[1]) == common));
  BOOST_TEST(clusters[1].at("pareto").as_bool());
}

BOOST_AUTO_TEST_CASE(where_no_cluster_has_a_plan_the_exit_code_says_so) {
  const Outcome outcome = swept("1,2", "2GB", {"--output", "-"});
  expect_one_line(outcome, 3,
                  "no plan on any of 2 clusters; on 2 x 1.86 GiB: 26 tables need 97.4 GiB");
  for (const json::value& cluster : clusters_in(outcome)) {
    BOOST_TEST(!cluster.at("feasible").as_bool());
  }
}

BOOST_AUTO_TEST_CASE(the_table_says_what_is_simulated_what_is_worth_it_and_how_good_plans_are) {
  const std::string table = swept("4,8", "80GB", {"--cost-model", "torchrec"}).out;
  for (const std::string words :
       {"26 tables, 97.4 GiB, batch 65,536\n", "cost model torchrec: SIMULATED hardware",
        "devices  memory each  cost ms  device ms", "####  worth it\n",
        "worth it: costs less, by more than 1 %, than", "above bound: no plan of"}) {
    BOOST_TEST(table.find(words) != std::string::npos, words << " in\n" << table);
  }
  const std::string networks = swept("4", "80GB").out;
  BOOST_TEST(networks.find("above bound") == std::string::npos, networks);
}

BOOST_AUTO_TEST_CASE(
    what_a_cost_model_does_not_take_ends_a_sweep_only_where_that_is_every_cluster) {
  neuroshard::Rng rng(1);
  neuroshard::CostModels models = neuroshard::test::random_models(4, rng);
  models.min_batch_size = 1;
  models.batch_size = 65536;
  const TemporaryFolder folder;
  const std::string file = folder.write("own.safetensors", neuroshard::format_cost_models(models));
  const std::vector<std::string> fixed{"--cost-model", file, "--output", "-"};
  const Outcome some = swept("2,4", "200GB", fixed);
  BOOST_TEST(some.exit_code == 0, some.err);
  const json::array clusters = clusters_in(some);
  BOOST_TEST(!clusters[0].at("feasible").as_bool());
  BOOST_TEST(clusters[0].at("refusal").as_string().find("for 4 devices only") !=
             json::string::npos);
  BOOST_TEST(clusters[1].at("feasible").as_bool());
  const Outcome none = swept("2,8", "200GB", fixed);
  expect_one_line(none, 2, "for 4 devices only (fixed-devices-mlp), found 2");
  BOOST_TEST(none.out.empty());

  const Outcome hosts = swept(
      "4,6", "80GB", {"--cost-model", "torchrec", "--devices-per-host", "4", "--output", "-"});
  BOOST_TEST(hosts.exit_code == 0, hosts.err);
  BOOST_TEST(clusters_in(hosts)[1].at("refusal").as_string() ==
             "--devices-per-host: found 4, expected a divisor of 6 devices");
}

// A plan that a format was chosen by is made as those of the rows are: for the target.
BOOST_AUTO_TEST_CASE(a_format_is_chosen_by_plans_that_the_target_runs) {
  const std::vector<std::string> given{"--tables",        source_file("examples/dlrm_dcnv2.json"),
                                       "--devices",       "16",
                                       "--device-memory", "60GB",
                                       "--cost-model",    "torchrec",
                                       "--target",        "torchrec",
                                       "--evaluations",   "300",
                                       "--exchange",      "auto",
                                       "--output",        "-"};
  const auto found = [&](const char* command) {
    std::vector<std::string> arguments{command};
    arguments.insert(arguments.end(), given.begin(), given.end());
    const Outcome outcome = run_command(arguments);
    BOOST_REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return boost::json::parse(outcome.out);
  };
  const boost::json::value plan = found("plan");
  const boost::json::value row = found("sweep").at("clusters").at(0);
  BOOST_TEST(row.at("exchange") == plan.at("exchange"));
  BOOST_TEST(row.at("cost_ms").to_number<double>() <= plan.at("cost_ms").to_number<double>());
}

BOOST_AUTO_TEST_CASE(fewer_devices_than_a_host_has_are_one_host) {
  const auto of_hosts = [](const std::vector<std::string>& hosts) {
    std::vector<std::string> more{"--cost-model", "torchrec", "--output", "-"};
    more.insert(more.end(), hosts.begin(), hosts.end());
    return clusters_in(swept("4,8,16", "80GB", more));
  };
  const json::array given = of_hosts({"--devices-per-host", "8"});
  const json::array usual = of_hosts({});
  BOOST_TEST_REQUIRE(given.size() == 3U);
  for (std::size_t index = 0; index < 3; ++index) {
    BOOST_TEST(given[index].at("feasible").as_bool(), given[index]);
    BOOST_TEST(given[index].at("cost_ms") == usual[index].at("cost_ms"));
  }
}

BOOST_AUTO_TEST_CASE(a_guess_is_told_once_with_the_numbers_of_devices_that_it_is_of) {
  std::vector<std::string> arguments{"sweep",     "--tables",    kSweptTables,
                                     "--devices", "1280,8,1100", "--device-memory",
                                     "80GB,40GB", "--algorithm", "size-greedy"};
  BOOST_TEST(run_command(arguments).err ==
             "h200_sim: trained on 2 to 1024 devices, what it says of 1100, 1280 is a guess\n");
  arguments.insert(arguments.end(), {"--cost-model", "torchrec", "--batch-size", "2200"});
  BOOST_TEST(run_command(arguments).err ==
             "torchrec: batch 2200 is no multiple of 1280 devices, the formula counts 1280, 1 on "
             "each\n");
}

BOOST_AUTO_TEST_CASE(lists_are_checked_item_by_item) {
  const std::vector<std::vector<std::string>> wrong{
      {"4,,8", "80GB", "--devices: found '', expected an integer from 1 to 65536"},
      {"4,8,", "80GB", "--devices: found ''"},
      {"0,8", "80GB", "--devices: found '0', expected an integer from 1"},
      {"8,65537", "80GB", "--devices: found '65537'"},
      {"8,four", "80GB", "--devices: found 'four'"},
      {"8,4,8", "80GB", "--devices: found '8,4,8', expected no value twice ('8')"},
      {"8", "80GB,", "--device-memory: '': expected a size"},
      {"8", "80GB,0", "--device-memory: found '0', expected a size above 0"},
      {"8", "80GB,80000MB",
       "--device-memory: found '80GB,80000MB', expected no value twice ('80000"},
      {"8", "80GB,many", "--device-memory: 'many'"}};
  for (const std::vector<std::string>& lists : wrong) {
    expect_one_line(swept(lists[0], lists[1]), 2, lists[2]);
  }
  std::string many = "1";
  for (int devices = 2; devices <= 129; ++devices) many += "," + std::to_string(devices);
  expect_one_line(swept(many, "1GB,2GB"), 2, "found 129 x 2 clusters, expected at most 256");
  expect_one_line(swept("8", "80GB", {"--batch-size", "3"}), 2,
                  "--batch-size: the cost models are");
}

BOOST_AUTO_TEST_SUITE_END()
