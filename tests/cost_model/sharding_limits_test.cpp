// Tables whose sharding is limited, planned under the cost models that are shipped.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/core/plan_check.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "io/plans/plan_tables.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(sharding_limits)

namespace {

constexpr AllowedSharding kOnlyRows{.whole = false, .columns = false, .data_parallel = false};

/// 24 tables, each fourth of them limited in its own way.
Workload mixed_tables() {
  Workload workload;
  for (int k = 0; k < 24; ++k) {
    Table table;
    table.name = "t" + std::to_string(k);
    table.rows = 1000 + 5000 * k;
    table.dim = 64;
    table.pooling_factor = 1 + k % 5;
    table.reuse_histogram[0] = 1;
    if (k % 4 == 0) table.sharding = {.columns = false, .rows = false, .data_parallel = false};
    if (k % 4 == 1) table.sharding = kOnlyRows;
    if (k % 4 == 2) table.sharding = {.rows = false, .min_columns = 32};
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

PlanResult plan_on(std::int32_t devices, const Workload& workload, std::string_view model) {
  const Cluster cluster{.devices = devices, .memory_bytes = std::int64_t{1} << 34};
  PlanOptions options;
  options.evaluations = 5000;
  options.data_parallel = true;
  return make_plan(workload, cluster, load_cost_models(std::string(model))->models, options)
      .value();
}

}  // namespace

BOOST_AUTO_TEST_CASE(plans_keep_to_what_tables_allow_under_every_cost_model) {
  const Workload workload = mixed_tables();
  for (const char* model : {"h200_sim", "a100_sim", "torchrec"}) {
    for (const std::int32_t devices : {2, 8, 16}) {
      const PlanResult found = plan_on(devices, workload, model);
      BOOST_REQUIRE(validate(workload, found.plan).ok());
      const Status status = io::check_plan_sharding(workload, found.plan);
      BOOST_TEST(status.ok(), model << ", " << devices << ": " << status.message());
    }
  }
}

BOOST_AUTO_TEST_CASE(limits_cost_what_freedom_saves) {
  const Workload limited = mixed_tables();
  Workload free = limited;
  for (Table& table : free.tables) table.sharding = {};
  for (const char* model : {"h200_sim", "torchrec"}) {
    BOOST_TEST(plan_on(8, limited, model).cost.cost_ms >= plan_on(8, free, model).cost.cost_ms);
  }
}

BOOST_AUTO_TEST_CASE(on_a_single_device_every_table_is_whole) {
  Workload workload = mixed_tables();
  for (Table& table : workload.tables) table.sharding = kOnlyRows;
  const PlanResult found = plan_on(1, workload, "torchrec");
  BOOST_TEST(found.plan.shards.size() == workload.tables.size());
  const Cluster cluster{.devices = 1, .memory_bytes = std::int64_t{1} << 34};
  const CostModels torchrec = load_cost_models("torchrec")->models;
  const auto bound = cost_lower_bound(workload, cluster, torchrec, RowSplits::kEven);
  BOOST_TEST(**bound <= found.cost.cost_ms);
  BOOST_TEST(**bound > 0);
}

// A set of all devices that there are is not one of those that may be added.
BOOST_AUTO_TEST_CASE(no_devices_are_proposed_to_tables_that_name_theirs) {
  Workload workload = mixed_tables();
  workload.tables.resize(2);
  for (Table& table : workload.tables) table.sharding = {};
  workload.tables[0].rows = 3'000'000;
  workload.tables[1].rows = 1'000'000;
  const Cluster cluster{.devices = 2, .memory_bytes = 375'000'000};
  const CostModels models = load_cost_models("h200_sim")->models;
  PlanOptions options;
  options.evaluations = 100;
  const auto refusal = [&] {
    return make_plan(workload, cluster, models, options).status().message();
  };
  BOOST_TEST(refusal().find("1 more device would do") != std::string::npos, refusal());
  workload.tables[0].devices = DeviceSet({0, 1});
  BOOST_TEST(refusal().find("more device") == std::string::npos, refusal());
  BOOST_TEST(refusal().find("of memory per device would do") != std::string::npos, refusal());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
