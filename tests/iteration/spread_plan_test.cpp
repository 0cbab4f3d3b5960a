#include "engine/iteration/spread_plan.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/plan_check.h"
#include "tests/iteration/dense_models.h"

namespace neuroshard {
namespace {

using test::tables_of;

std::vector<TableDemand> equal_demand(std::size_t tables) {
  return std::vector<TableDemand>(tables, TableDemand{1, 0.1});
}

std::int64_t shards_of_table(const Plan& plan, std::int32_t table) {
  return std::count_if(plan.shards.begin(), plan.shards.end(),
                       [&](const Shard& shard) { return shard.table == table; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(spread_plan)

BOOST_AUTO_TEST_CASE(every_rule_makes_a_valid_plan_without_two_pieces_of_a_table_on_a_device) {
  Workload workload = tables_of(10, 100);
  workload.tables[1].rows = 3;
  workload.tables[2].pooled = false;
  workload.tables[3].pooling_factor = 1;
  workload.tables[4].dim = 4;
  workload.tables[5].rows = 1'000'003;
  std::vector<TableDemand> demand = equal_demand(10);
  demand[5] = {40, 0.1};
  for (const std::int32_t devices : {1, 2, 6, 8, 64}) {
    for (const SpreadRule& rule : spread_rules()) {
      const Plan plan = make_spread_plan(workload, demand, devices, rule);
      const Status valid = validate(workload, plan);
      BOOST_TEST_REQUIRE(valid.ok(), valid.message());
      std::set<std::pair<std::int32_t, std::int32_t>> seen;
      for (const Shard& shard : plan.shards) {
        BOOST_TEST(seen.emplace(shard.table, shard.device).second);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(small_tables_go_to_every_device) {
  Workload workload = tables_of(3, 128);  // of 512,000 B each
  workload.tables[2].rows = 10'000'000;
  const Plan plan = make_spread_plan(workload, equal_demand(3), 4, {1 << 20, 1, true});
  BOOST_TEST(plan.shards[0].device == kEveryDevice);
  BOOST_TEST(plan.shards[1].device == kEveryDevice);
  BOOST_TEST(plan.shards[2].device != kEveryDevice);
}

BOOST_AUTO_TEST_CASE(heavy_tables_are_divided_until_no_piece_is_large) {
  Workload workload = tables_of(4, 128);
  std::vector<TableDemand> demand = equal_demand(4);
  demand[0].compute_ms = 13;  // of 16 in all, 2 a device
  const Plan whole = make_spread_plan(workload, demand, 8, {0, 8, true});
  BOOST_TEST(shards_of_table(whole, 0) == 1);
  const Plan mean = make_spread_plan(workload, demand, 8, {0, 1, true});
  BOOST_TEST(shards_of_table(mean, 0) == 8);
  BOOST_TEST(shards_of_table(mean, 1) == 1);
  const Plan half = make_spread_plan(workload, demand, 8, {0, 0.25, true});
  BOOST_TEST(shards_of_table(half, 1) == 2);
}

BOOST_AUTO_TEST_CASE(devices_are_balanced_by_exchanges_where_they_count) {
  Workload workload = tables_of(3, 128);
  std::vector<TableDemand> demand{{3, 0}, {2, 2}, {2, 2}};
  const Plan counted = make_spread_plan(workload, demand, 2, {0, 1, true});
  BOOST_TEST(counted.shards[1].device != counted.shards[2].device);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
