// Plans of networks with hot rows on every device: tables with a lookup a sample or lookups that
// are not pooled gain most, since bags of many lookups nearly all have a cold row.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "engine/core/hot_rows.h"
#include "engine/core/plan_check.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/rng.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/planner/planner.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
namespace {

/// Skewed tables with so many lookups a sample.
Workload skewed_tables(int count, double pooling, double zipf_alpha) {
  Rng rng(7);
  Workload workload;
  for (int k = 0; k < count; ++k) {
    Table table;
    table.name = "t" + std::to_string(k);
    table.rows = rng.between(1'000'000, 5'000'000);
    table.dim = 64;
    table.pooling_factor = pooling;
    const double lookups = pooling * static_cast<double>(workload.batch_size);
    table.reuse_histogram = expected_reuse(table.rows, lookups, zipf_alpha).histogram;
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

const CostModels& hundreds() {
  static const CostModels networks = load_shipped_models("h100_sim").value().models;
  return networks;
}

PlanResult with_hot_rows(const Workload& workload, const Cluster& cluster, bool hot) {
  PlanOptions options;
  options.evaluations = test::unless_sanitized(30'000, 1000);
  options.hot_rows = hot;
  return make_plan(workload, cluster, hundreds(), options).value();
}

constexpr Cluster kManyHosts{.devices = 64, .memory_bytes = std::int64_t{16} << 30};

}  // namespace

BOOST_AUTO_TEST_SUITE(hot_rows_plans)

BOOST_AUTO_TEST_CASE(one_hot_tables_send_their_cold_rows_alone) {
  const Workload workload = skewed_tables(150, 1, 1.05);
  const PlanResult without = with_hot_rows(workload, kManyHosts, false);
  const PlanResult with = with_hot_rows(workload, kManyHosts, true);
  BOOST_TEST(hot_rows(without.plan).empty());
  BOOST_TEST(hot_rows(with.plan).size() > 75);
  BOOST_TEST(with.cost.cost_ms < 0.8 * without.cost.cost_ms);
  BOOST_TEST(validate(workload, with.plan).ok());
  for (const DeviceCost& device : with.cost.per_device) {
    BOOST_TEST(device.memory_bytes <= kManyHosts.memory_bytes);
  }
  BOOST_TEST(simulate(workload, with.plan, hundreds(), kManyHosts).value().cost_ms ==
             with.cost.cost_ms);
}

BOOST_AUTO_TEST_CASE(sequences_send_less) {
  Workload workload = skewed_tables(20, 20, 1.05);
  for (Table& table : workload.tables) table.pooled = false;
  const PlanResult without = with_hot_rows(workload, kManyHosts, false);
  const PlanResult with = with_hot_rows(workload, kManyHosts, true);
  BOOST_TEST(!hot_rows(with.plan).empty());
  BOOST_TEST(with.cost.cost_ms < 0.9 * without.cost.cost_ms);
}

BOOST_AUTO_TEST_CASE(bags_of_many_lookups_gain_little_and_lose_nothing) {
  const Workload workload = skewed_tables(200, 30, 0.8);
  const Cluster one_host{.devices = 8, .memory_bytes = std::int64_t{64} << 30};
  const PlanResult without = with_hot_rows(workload, one_host, false);
  const PlanResult with = with_hot_rows(workload, one_host, true);
  BOOST_TEST(with.cost.cost_ms <= without.cost.cost_ms);
  BOOST_TEST(with.cost.cost_ms > 0.95 * without.cost.cost_ms);
}

BOOST_AUTO_TEST_CASE(trainers_that_send_all_bags_have_hot_rows_of_single_lookups_alone) {
  Workload workload = skewed_tables(150, 1, 1.05);
  for (std::size_t k = 0; k < 100; ++k) {
    Table& table = workload.tables[k];
    table.features = k < 60 ? 1 : 2;
    table.pooling_factor = k < 60 ? 1.2 : 2;
    table.pooled = k >= 10;
  }
  PlanOptions options;
  options.evaluations = test::unless_sanitized(5'000, 1'000);
  options.hot_rows = true;
  const auto sums_with_hot_rows = [&] {
    int sums = 0;
    const Plan plan = make_plan(workload, kManyHosts, hundreds(), options).value().plan;
    BOOST_TEST(hot_rows(plan).size() > 20U);
    for (const HotRows& hot : hot_rows(plan)) sums += hot.table >= 10 && hot.table < 60 ? 1 : 0;
    return sums;
  };
  BOOST_TEST(sums_with_hot_rows() > 0);
  options.trainer.hot_bags = false;
  BOOST_TEST(sums_with_hot_rows() == 0);
}

BOOST_AUTO_TEST_CASE(hot_rows_keep_to_their_memory) {
  const Workload workload = skewed_tables(150, 1, 1.05);
  PlanOptions options;
  options.evaluations = test::unless_sanitized(5'000, 1'000);
  options.hot_rows = true;
  options.hot_memory_bytes = 200'000;
  const PlanResult little = make_plan(workload, kManyHosts, hundreds(), options).value();
  std::int64_t bytes = 0;
  for (const HotRows& hot : hot_rows(little.plan)) {
    bytes += hot_row_bytes(workload.tables[static_cast<std::size_t>(hot.table)], hot.rows);
  }
  BOOST_TEST(bytes <= options.hot_memory_bytes);
}

BOOST_AUTO_TEST_CASE(the_simulator_says_what_networks_say) {
  const ChosenProfile profile = choose_profile("H100-80G+cluster").value();
  for (const double pooling : {1.0, 4.0}) {
    const Workload workload = skewed_tables(150, pooling, 1.05);
    const Plan plan = with_hot_rows(workload, kManyHosts, false).plan;
    Plan hot = plan;
    std::vector<HotRows> rows;
    for (std::size_t k = 0; k < workload.tables.size(); ++k) {
      const std::vector<HotLevel> levels = hot_levels(workload.tables[k], workload.batch_size);
      rows.push_back({static_cast<std::int32_t>(k), levels[levels.size() / 2].rows});
    }
    BOOST_REQUIRE(give_hot_rows(rows, hot).ok());
    const double said = simulate(workload, hot, hundreds(), kManyHosts).value().cost_ms;
    const double simulated = simulate_plan(profile, workload, hot).value().cost.cost_ms;
    BOOST_TEST_INFO(pooling << " lookups: " << said << " and " << simulated);
    BOOST_TEST(std::abs(said / simulated - 1) < 0.1);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
