// What tables say of themselves counts, and comes back.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/library/support.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

}  // namespace

BOOST_AUTO_TEST_SUITE(tables)

BOOST_AUTO_TEST_CASE(features_and_weights_of_a_table_count_and_come_back) {
  const Planner planner = must(Planner::create(must(CostModels::shipped("torchrec"))));
  const auto cost = [&](std::int32_t features, bool weighted, bool pooled = true) {
    Workload workload = must(Workload::create(65536));
    BOOST_REQUIRE(workload
                      .add({.name = "t",
                            .rows = 1000,
                            .dim = 128,
                            .pooling_factor = 4,
                            .features = features,
                            .weighted = weighted,
                            .pooled = pooled})
                      .ok());
    const Table back = must(workload.table(0));
    BOOST_TEST(back.features == features);
    BOOST_TEST(back.weighted == weighted);
    BOOST_TEST(back.pooled == pooled);
    const PlanOptions greedy{.algorithm = "size-greedy", .threads = 1};
    return must(planner.simulate(workload, must(planner.plan(workload, cluster_of(2), greedy))))
        .cost_ms();
  };
  BOOST_TEST(cost(2, false) > cost(1, false));
  BOOST_TEST(cost(1, true) > cost(1, false));
  BOOST_TEST(cost(1, false, false) > cost(1, false));
}

BOOST_AUTO_TEST_CASE(what_sharding_tables_forbid_comes_back) {
  Workload workload = must(Workload::create(65536));
  for (std::uint32_t forbidden = 0; forbidden < 15; ++forbidden) {
    const std::string name = std::to_string(forbidden);
    BOOST_REQUIRE(workload
                      .add({.name = name,
                            .rows = 10,
                            .dim = 64,
                            .forbidden_sharding = forbidden,
                            .min_columns = forbidden == 3 ? 0 : 32})
                      .ok());
    const Table back = must(workload.table(forbidden));
    BOOST_TEST(back.forbidden_sharding == forbidden);
    BOOST_TEST(back.min_columns == (forbidden == 3 ? 4 : 32));
  }
}

BOOST_AUTO_TEST_CASE(tables_are_on_the_devices_that_they_name) {
  const Planner planner = must(Planner::create(must(CostModels::shipped("h200_sim"))));
  Workload workload = must(Workload::create(65536));
  for (int k = 0; k < 6; ++k) {
    BOOST_REQUIRE(
        workload
            .add({.name = "t" + std::to_string(k),
                  .rows = 1000,
                  .dim = 16,
                  .pooling_factor = 2,
                  .devices = k < 3 ? std::vector<std::int32_t>{k, 3} : std::vector<std::int32_t>{}})
            .ok());
  }
  BOOST_TEST(must(workload.table(2)).devices == (std::vector<std::int32_t>{2, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(must(workload.table(5)).devices.empty());
  const Plan plan = must(planner.plan(workload, cluster_of(4), {.evaluations = 1000}));
  for (const Shard& shard : plan.shards()) {
    if (shard.table < 3) BOOST_TEST((shard.device == shard.table || shard.device == 3));
  }
  BOOST_TEST(plan.check(workload, cluster_of(4)).ok());
  const auto elsewhere = whole_tables(workload, 2).check(workload, cluster_of(2));
  BOOST_REQUIRE(!elsewhere.ok());
  BOOST_TEST(elsewhere.error().message ==
             "table 2 't2': found a shard on device 0, it may be on devices 2 and 3");
  const auto refused = planner.plan(workload, cluster_of(3));
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(refused.error().message ==
             "table 0 (t0): found device 3 among its devices, expected below 3");
}

BOOST_AUTO_TEST_CASE(sharding_of_a_table_file_is_forbidden_in_bits) {
  const auto forbidden = [](const std::string& allowed) {
    const Workload workload = must(Workload::parse(
        R"({"format": "neuroshard-tables", "version": 1, "tables": [{"name": "t", "rows": 10,
            "dim": 8, "pooling_factor": 1, "sharding": [")" +
            allowed + "\"]}]}",
        "f"));
    return must(workload.table(0)).forbidden_sharding;
  };
  const std::uint32_t all = NEUROSHARD_SHARDING_WHOLE + NEUROSHARD_SHARDING_COLUMNS +
                            NEUROSHARD_SHARDING_ROWS + NEUROSHARD_SHARDING_DATA_PARALLEL;
  BOOST_TEST(forbidden("whole") == all - NEUROSHARD_SHARDING_WHOLE);
  BOOST_TEST(forbidden("columns") == all - NEUROSHARD_SHARDING_COLUMNS);
  BOOST_TEST(forbidden("rows") == all - NEUROSHARD_SHARDING_ROWS);
  BOOST_TEST(forbidden("data_parallel") == all - NEUROSHARD_SHARDING_DATA_PARALLEL);
}

BOOST_AUTO_TEST_SUITE_END()
