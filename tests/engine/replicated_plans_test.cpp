// Plans of networks with tables whole on every device: one such table alone brings an all-reduce
// and gains nothing, many together do.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>

#include "engine/core/plan_check.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/rng.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "io/tables/tables.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
namespace {

/// Tables with one lookup a sample; `small` of them of few rows.
Workload one_hot_tables(int count, int small) {
  Rng rng(11);
  Workload workload;
  for (int k = 0; k < count; ++k) {
    Table table;
    table.name = "t" + std::to_string(k);
    table.rows = k < small ? rng.between(10, 2000) : rng.between(1'000'000, 3'000'000);
    table.dim = 64;
    table.pooling_factor = 1;
    table.reuse_histogram =
        expected_reuse(table.rows, static_cast<double>(workload.batch_size), 0.8).histogram;
    workload.tables.push_back(std::move(table));
  }
  return workload;
}

const CostModels& networks() {
  static const CostModels models = load_shipped_models("h100_sim").value().models;
  return models;
}

PlanResult planned(const Workload& workload, const Cluster& cluster, bool data_parallel) {
  PlanOptions options;
  options.evaluations = test::unless_sanitized(30'000, 10'000);
  options.data_parallel = data_parallel;
  return make_plan(workload, cluster, networks(), options).value();
}

std::int64_t replicas_in(const Plan& plan) {
  return std::count_if(plan.shards.begin(), plan.shards.end(),
                       [](const Shard& shard) { return shard.device == kEveryDevice; });
}

constexpr Cluster kHosts{.devices = 64, .memory_bytes = std::int64_t{16} << 30};

}  // namespace

/// The plan of DLRM-DCNv2 by HugeCTR's own planner (samples/dlrm/sharding, hier_auto) for 64
/// devices in hosts of 8: small tables on every device, the rows of others over a host each, of the
/// one with most lookups over four.
Plan of_hugectr(const Workload& workload) {
  Plan plan{64, {}};
  std::int32_t host = 0;
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    const Table& own = workload.tables[static_cast<std::size_t>(table)];
    if (own.rows < 12'000) {
      plan.shards.push_back(whole_table(workload, table, kEveryDevice));
      continue;
    }
    const std::int32_t parts = own.pooling_factor >= 100 ? 32 : 8;
    const std::int32_t first = parts == 32 ? 8 : 8 * (host++ % 8);
    const std::int64_t block = (own.rows + parts - 1) / parts;
    for (std::int32_t part = 0; part < parts; ++part) {
      Shard shard = whole_table(workload, table, first + part);
      shard.row_begin = block * part;
      shard.row_end = std::min(own.rows, block * (part + 1));
      plan.shards.push_back(shard);
    }
  }
  return plan;
}

BOOST_AUTO_TEST_SUITE(replicated_plans)

BOOST_AUTO_TEST_CASE(no_plan_of_hugectrs_planner_for_several_hosts_costs_less) {
  const std::string file = std::string(NEUROSHARD_SOURCE_DIR) + "/examples/dlrm_dcnv2.json";
  Workload workload = io::make_workload(io::read_tables(file).value(), file).value();
  workload.batch_size = 135'168;
  const Cluster cluster{.devices = 64, .memory_bytes = 60'000'000'000};
  const PlanCost theirs = simulate(workload, of_hugectr(workload), networks()).value();
  const PlanResult own = planned(workload, cluster, true);
  BOOST_TEST(own.cost.cost_ms < theirs.cost_ms);
  BOOST_TEST(validate(workload, own.plan).message() == "");
}

BOOST_AUTO_TEST_CASE(many_small_tables_go_to_every_device_where_hosts_exchange_slowly) {
  const Workload workload = one_hot_tables(160, 120);
  const PlanResult without = planned(workload, kHosts, false);
  const PlanResult with = planned(workload, kHosts, true);
  BOOST_TEST(replicas_in(without.plan) == 0);
  BOOST_TEST(replicas_in(with.plan) > 60);
  BOOST_TEST(with.cost.cost_ms < 0.8 * without.cost.cost_ms);
  BOOST_TEST(validate(workload, with.plan).ok());
}

BOOST_AUTO_TEST_CASE(one_table_is_not_worth_an_all_reduce) {
  const Workload workload = one_hot_tables(41, 1);
  const PlanResult without = planned(workload, kHosts, false);
  const PlanResult with = planned(workload, kHosts, true);
  BOOST_TEST(replicas_in(with.plan) == 0);
  Plan replicated = without.plan;
  std::erase_if(replicated.shards, [](const Shard& shard) { return shard.table == 0; });
  replicated.shards.push_back({0, 0, workload.tables[0].rows, 0, 64, kEveryDevice});
  const CostModels networks = load_shipped_models("h100_sim").value().models;
  const double cost = simulate(workload, replicated, networks, kHosts).value().cost_ms;
  BOOST_TEST(without.cost.cost_ms < cost);
  BOOST_TEST(with.cost.cost_ms < cost);
}

BOOST_AUTO_TEST_CASE(replicas_keep_within_memory) {
  const Workload workload = one_hot_tables(80, 60);
  Cluster little = kHosts;
  little.devices = 8;
  little.memory_bytes =
      planned(workload, {.devices = 8, .memory_bytes = kHosts.memory_bytes}, false)
          .cost.per_device[0]
          .memory_bytes *
      5 / 4;
  const PlanResult with = planned(workload, little, true);
  for (const DeviceCost& device : with.cost.per_device) {
    BOOST_TEST(device.memory_bytes <= little.memory_bytes);
  }
}

BOOST_AUTO_TEST_CASE(what_may_be_nothing_else_is_on_every_device_of_one) {
  Workload workload = one_hot_tables(3, 2);
  workload.tables[0].sharding = {.whole = false, .columns = false, .rows = false};
  const Cluster one{.devices = 1, .memory_bytes = kHosts.memory_bytes};
  const PlanResult with = planned(workload, one, true);
  BOOST_TEST(replicas_in(with.plan) == 1);
  BOOST_TEST(validate(workload, with.plan).message() == "");
  for (const Shard& shard : with.plan.shards) {
    BOOST_TEST((shard.device == kEveryDevice) == (shard.table == 0));
  }
  const PlanResult without = planned(workload, one, false);
  BOOST_TEST(replicas_in(without.plan) == 0);
  BOOST_TEST(with.cost.per_device[0].memory_bytes == without.cost.per_device[0].memory_bytes);
  // The formula has such tables cheaper than whole ones, of which a bound would be.
  const CostModels formula = load_shipped_models("torchrec").value().models;
  for (const char* algorithm : {"refine", "exact"}) {
    PlanOptions options;
    options.algorithm = algorithm;
    options.data_parallel = true;
    const PlanResult cheaper = make_plan(workload, one, formula, options).value();
    BOOST_TEST(replicas_in(cheaper.plan) == 1);
    BOOST_TEST(!cheaper.lower_bound.has_value());
  }
  // A plan near one that runs is no other there.
  PlanOptions both;
  both.data_parallel = true;
  both.evaluations = 100;
  const Plan before{1, {whole_table(workload, 1, 0), whole_table(workload, 2, 0)}};
  const Result<PlanResult> near =
      replan(workload, one, formula, before, {.bytes = workload_bytes(workload)}, both);
  BOOST_REQUIRE_MESSAGE(near.ok(), near.status().message());
  BOOST_TEST(replicas_in(near->plan) == 1);
  BOOST_TEST(!cost_lower_bound(workload, one, formula, RowSplits::kEven, true).value());
  BOOST_TEST(cost_lower_bound(workload, one, formula, RowSplits::kEven, false).value().has_value());
}

// Its refusal asked itself for advice without end, as "allowing whole" changes nothing.
BOOST_AUTO_TEST_CASE(what_nothing_can_be_made_of_is_refused) {
  Workload workload = one_hot_tables(1, 2);
  workload.tables[0].devices = DeviceSet({0, 1});
  workload.tables[0].kernels = {.fused = false, .fused_uvm_caching = false};
  PlanOptions options;
  options.data_parallel = true;
  options.evaluations = 100;
  const CostModels models = load_shipped_models("h200_sim").value().models;
  for (const char* algorithm : {"refine", "anneal"}) {
    options.algorithm = algorithm;
    const Cluster four{.devices = 4, .memory_bytes = kHosts.memory_bytes};
    BOOST_TEST(
        (make_plan(workload, four, models, options).status().code() == StatusCode::kInfeasible));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
