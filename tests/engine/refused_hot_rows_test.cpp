// Plans with hot rows for files that have no place for them.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/core/hot_rows.h"
#include "engine/core/reuse_histogram.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/plan_for_file.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
namespace {

/// Tables that gain by hot rows: skewed, a lookup a sample.
Workload gaining_tables(int count) {
  Workload workload;
  for (int k = 0; k < count; ++k) {
    Table table;
    table.name = "t" + std::to_string(k);
    table.rows = 1'000'000 + 27'103 * k;
    table.dim = 64;
    table.pooling_factor = 1;
    const auto lookups = static_cast<double>(workload.batch_size);
    table.reuse_histogram = expected_reuse(table.rows, lookups, 1.05).histogram;
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

/// A file that takes plans without hot rows and, where `hot`, those with some.
PlanFile stone_with(bool hot) {
  return {"stone", [](Plan plan) { return plan; },
          [hot](const PlanResult& result) {
            return hot || hot_rows(result.plan).empty() ? Status() : invalid_input("too hot");
          }};
}

constexpr Cluster kSixtyFour{.devices = 64, .memory_bytes = std::int64_t{16} << 30};

const CostModels& h100_networks() {
  static const CostModels own = load_shipped_models("h100_sim").value().models;
  return own;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(refused_hot_rows)

BOOST_AUTO_TEST_CASE(another_plan_is_searched_without_them) {
  const Workload workload = gaining_tables(150);
  PlanOptions options;
  options.evaluations = test::unless_sanitized(5000, 1000);
  options.hot_rows = true;
  const PlanResult hot =
      make_plan_for(stone_with(true), workload, kSixtyFour, h100_networks(), options).value();
  BOOST_TEST(!hot_rows(hot.plan).empty());
  BOOST_TEST(hot.hot_rows_refused.empty());
  const PlanResult cold =
      make_plan_for(stone_with(false), workload, kSixtyFour, h100_networks(), options).value();
  BOOST_TEST(cold.hot_rows_refused == "too hot");
  options.hot_rows = false;
  const PlanResult own =
      make_plan_for(stone_with(false), workload, kSixtyFour, h100_networks(), options).value();
  BOOST_TEST((cold.plan == own.plan));
  BOOST_TEST(cold.evaluations == hot.evaluations + own.evaluations);
}

BOOST_AUTO_TEST_CASE(both_searches_together_keep_to_one_time_limit) {
  const Workload workload = gaining_tables(test::unless_sanitized(150, 50));
  PlanOptions options;
  options.time_limit_s = test::unless_sanitized(2, 4);
  options.hot_rows = true;
  const PlanResult cold =
      make_plan_for(stone_with(false), workload, kSixtyFour, h100_networks(), options).value();
  BOOST_TEST(cold.hot_rows_refused == "too hot");
  BOOST_TEST(hot_rows(cold.plan).empty());
  BOOST_TEST(cold.stopped_early);
  BOOST_TEST(cold.seconds < 1.5 * options.time_limit_s);
}

BOOST_AUTO_TEST_CASE(who_asked_to_stop_waits_for_no_other_search) {
  const Workload workload = gaining_tables(150);
  CancelToken stop;
  PlanOptions options;
  options.evaluations = test::unless_sanitized(1000, 300);
  options.hot_rows = true;
  options.cancel = &stop;
  PlanFile file = stone_with(false);
  int asked = 0;
  file.as_written = [&](Plan plan) {
    stop.cancel();
    ++asked;
    return plan;
  };
  const PlanResult best =
      make_plan_for(file, workload, kSixtyFour, h100_networks(), options).value();
  BOOST_TEST(asked == 1);
  BOOST_TEST(best.hot_rows_refused.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
