#include "io/reports/sweep_report.h"

#include <boost/test/unit_test.hpp>

#include "io/json/json.h"

namespace neuroshard::io {
namespace {

SweepCluster planned(std::int32_t devices, std::int64_t memory_bytes, double cost_ms) {
  return {.cluster = {devices, memory_bytes}, .feasible = true, .cost_ms = cost_ms};
}

/// One without a plan, one with everything that a plan may have.
SweepReport example_sweep() {
  SweepCluster full{.cluster = {1, 80}, .refusal = "2 tables need 160 B", .seconds = 0.25};
  SweepCluster fits = planned(2, 80, 2.5);
  fits.memory_bytes = 64;
  fits.shards = 3;
  fits.lower_bound_ms = 2;
  fits.stopped_early = true;
  fits.skipped = "the paper's search";
  fits.seconds = 0.5;
  return {"h200", "H200, nvswitch", "simulated", 4096, 2, 0, {full, fits}};
}

using Marks = std::vector<bool>;

BOOST_AUTO_TEST_SUITE(sweep_report)

BOOST_AUTO_TEST_CASE(more_devices_or_memory_are_worth_it_where_they_make_it_cheaper) {
  const std::vector<SweepCluster> clusters{planned(4, 40, 10), planned(4, 80, 10),
                                           planned(8, 40, 12), planned(8, 80, 5),
                                           planned(16, 40, 6), planned(16, 80, 5)};
  BOOST_TEST((worth_it(clusters) == Marks{true, false, false, true, true, false}));
}

BOOST_AUTO_TEST_CASE(what_has_more_devices_but_less_memory_each_is_no_rival) {
  const std::vector<SweepCluster> clusters{planned(4, 80, 5), planned(8, 40, 6)};
  BOOST_TEST((worth_it(clusters) == Marks{true, true}));
}

BOOST_AUTO_TEST_CASE(a_gain_as_small_as_searches_differ_by_is_worth_nothing) {
  BOOST_TEST(
      (worth_it(std::vector{planned(4, 40, 100), planned(4, 80, 99.1)}) == Marks{true, false}));
  BOOST_TEST(
      (worth_it(std::vector{planned(4, 40, 100), planned(4, 80, 98.9)}) == Marks{true, true}));
  BOOST_TEST((worth_it(std::vector{planned(4, 40, 0), planned(8, 40, 0)}) == Marks{true, false}));
}

BOOST_AUTO_TEST_CASE(a_cluster_without_a_plan_is_not_worth_it_and_beats_nothing) {
  const std::vector<SweepCluster> clusters{{.cluster = {2, 40}}, planned(4, 40, 10)};
  BOOST_TEST((worth_it(clusters) == Marks{false, true}));
  BOOST_TEST(worth_it({}).empty());
}

BOOST_AUTO_TEST_CASE(the_report_says_whose_whole_steps_costs_are_of) {
  SweepReport report = example_sweep();
  BOOST_TEST(format_sweep(report).find("dense_model") == std::string::npos);
  report.dense_model = "model.json";
  BOOST_TEST(format_sweep(report).find("\"dense_model\": \"model.json\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_report_says_of_each_cluster_what_a_plan_costs_or_why_there_is_none) {
  BOOST_TEST(format_sweep(example_sweep()) == R"({
  "cost_model": "h200",
  "hardware": "H200, nvswitch",
  "cost_provenance": "simulated",
  "batch_size": 4096,
  "tables": 2,
  "clusters": [
    {"devices": 1, "device_memory_bytes": 80, "feasible": false, "cost_ms": null, "device_ms": null, "memory_bytes": null, "shards": null, "refusal": "2 tables need 160 B", "seconds": 0.25, "stopped_early": false, "pareto": false},
    {"devices": 2, "device_memory_bytes": 80, "feasible": true, "cost_ms": 2.5, "device_ms": 5, "memory_bytes": 64, "shards": 3, "lower_bound_ms": 2, "seconds": 0.5, "stopped_early": true, "skipped": "the paper's search", "pareto": true}
  ]
}
)");
}

BOOST_AUTO_TEST_CASE(where_hosts_have_memory_clusters_say_what_of_it_plans_take) {
  SweepReport report = example_sweep();
  report.host_memory_bytes = 320;
  report.clusters[1].offloaded = 1;
  report.clusters[1].host_bytes = 96;
  const std::string text = format_sweep(report);
  for (const std::string part : {R"("tables": 2,
  "host_memory_bytes": 320,
  "clusters")",
                                 R"("shards": null, "offloaded": null, "host_bytes": null, )",
                                 R"("shards": 3, "offloaded": 1, "host_bytes": 96, )"}) {
    BOOST_TEST(text.find(part) != std::string::npos, part << " in\n" << text);
  }
}

BOOST_AUTO_TEST_CASE(an_empty_report_is_valid_json) {
  BOOST_TEST(JsonDocument::parse(format_sweep({}), "f").ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
