#include "io/reports/compare_report.h"

#include <boost/test/unit_test.hpp>

#include "io/json/json.h"
#include "support.h"

namespace neuroshard::io {
namespace {

using test::value_of;

/// Two algorithms on two tasks; the first fits only the first task, the second has no second task.
CompareReport example() {
  CompareResult feasible;
  feasible.feasible = true;
  feasible.seconds = 0.5;
  feasible.plan.devices = 1;
  feasible.plan.shards = {{1, 0, 10, 0, 4, 0}, {0, 0, 10, 0, 8, 0}};
  feasible.cost.cost_ms = 2.5;
  feasible.cost.per_device = {{1, 0.5, 1, 480, 12}};
  CompareResult infeasible = feasible;
  infeasible.feasible = false;
  infeasible.seconds = 0.25;
  CompareReport report;
  report.devices = 1;
  report.cost_model = "h200";
  report.hardware = "H200, nvswitch";
  report.cost_provenance = "simulated";
  report.algorithms = {"random", "dim-greedy"};
  report.tasks = {{0, 2, {{"random", feasible}, {"dim-greedy", infeasible}}},
                  {1, 2, {{"random", infeasible}}}};
  return report;
}

BOOST_AUTO_TEST_SUITE(compare_report)

BOOST_AUTO_TEST_CASE(means_are_over_feasible_costs_and_all_times) {
  const CompareReport report = example();
  const CompareSummary random = summarize(report, "random");
  BOOST_TEST(random.feasible_tasks == 1);
  BOOST_TEST(random.mean_cost_ms.value() == 2.5);
  BOOST_TEST(random.mean_seconds.value() == 0.375);
  const CompareSummary greedy = summarize(report, "dim-greedy");
  BOOST_TEST(greedy.feasible_tasks == 0);
  BOOST_TEST(!greedy.mean_cost_ms.has_value());
  BOOST_TEST(greedy.mean_seconds.value() == 0.25);
  BOOST_TEST(!summarize(report, "unheard-of").mean_seconds.has_value());
}

BOOST_AUTO_TEST_CASE(what_time_left_no_room_for_is_told_where_there_is_something) {
  CompareReport report = example();
  BOOST_TEST(format_compare(report).find("skipped") == std::string::npos);
  report.tasks[0].results["random"].skipped = "the paper's search";
  BOOST_TEST(format_compare(report).find(R"("seconds": 0.5,
          "skipped": "the paper's search",)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_report_has_the_shape_the_design_gives) {
  BOOST_TEST(format_compare(example()) == R"({
  "devices": 1,
  "cost_model": "h200",
  "hardware": "H200, nvswitch",
  "cost_provenance": "simulated",
  "algorithms": ["random", "dim-greedy"],
  "tasks": [
    {
      "index": 0,
      "tables": 2,
      "results": {
        "random": {
          "feasible": true,
          "cost_ms": 2.5,
          "seconds": 0.5,
          "shards": [
            {"table": 0, "rows": [0, 10], "columns": [0, 8], "device": 0},
            {"table": 1, "rows": [0, 10], "columns": [0, 4], "device": 0}
          ],
          "per_device": [
            {"device": 0, "compute_ms": 1, "forward_comm_ms": 0.5, "backward_comm_ms": 1, "total_ms": 2.5, "memory_bytes": 480, "dim_sum": 12}
          ]
        },
        "dim-greedy": {
          "feasible": false,
          "cost_ms": null,
          "seconds": 0.25,
          "shards": [],
          "per_device": []
        }
      }
    },
    {
      "index": 1,
      "tables": 2,
      "results": {
        "random": {
          "feasible": false,
          "cost_ms": null,
          "seconds": 0.25,
          "shards": [],
          "per_device": []
        }
      }
    }
  ],
  "summary": {
    "random": {"feasible_tasks": 1, "mean_cost_ms": 2.5, "mean_seconds": 0.375},
    "dim-greedy": {"feasible_tasks": 0, "mean_cost_ms": null, "mean_seconds": 0.25}
  }
}
)");
}

BOOST_AUTO_TEST_CASE(an_empty_report_is_valid_json) {
  const std::string text = format_compare({});
  BOOST_TEST(JsonDocument::parse(text, "f").ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
