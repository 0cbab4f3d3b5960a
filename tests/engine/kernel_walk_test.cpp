// The local search over where shards are and which kernels their tables have.
#include "engine/planner/offload/kernel_walk.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "io/plans/plan_tables.h"
#include "tests/engine/offload_costs.h"
#include "tests/support/offload_example.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(kernel_walk)

using test::kGiB;
using test::large_tables;
using test::OffloadCosts;
using test::torchrec_cost;

namespace {

/// Table k on device k % devices, read from host memory; the last in two halves of its columns.
Plan in_turn(const Workload& workload, std::int32_t devices) {
  Plan plan{devices, {}};
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    plan.shards.push_back(
        whole_table(workload, table, table % devices, {ComputeKernel::kFusedUvm, 0}));
  }
  Shard& last = plan.shards.back();
  last.column_end /= 2;
  Shard other = last;
  std::tie(other.column_begin, other.column_end) = std::pair(last.column_end, 2 * last.column_end);
  other.device = (last.device + 1) % devices;
  plan.shards.push_back(other);
  return plan;
}

KernelWalk walk_from(const KernelCosts& costs, const Hosts& hosts, const Plan& plan) {
  return {costs, hosts, plan, arrangement_of(plan, costs.tables()).kernels, 1};
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_step_keeps_all_limits_and_makes_no_plan_dearer) {
  for (const int seed : {1, 2, 3}) {
    Workload workload = large_tables(15, seed);
    workload.tables[1].devices = DeviceSet({1, 2});
    workload.tables[2].kernels.fused = false;
    workload.tables[3].kernels.fused_uvm_caching = false;
    workload.tables[4].kernels.load_factor = 0.37;
    const Plan start = in_turn(workload, 4);
    const std::vector<std::int64_t> device = device_bytes(workload, start);
    const std::int64_t memory = *std::max_element(device.begin(), device.end()) + 2 * kGiB;
    const std::vector<std::int64_t> host = host_bytes(workload, start, 2);
    const Hosts hosts{2, 2, *std::max_element(host.begin(), host.end())};
    const OffloadCosts costs(workload, {4, memory});
    KernelWalk walk = walk_from(costs, hosts, start);
    const double began = walk.cost_ms();
    double before = began;
    for (int step = 0; step < 2000; ++step) {
      walk.step();
      BOOST_REQUIRE(walk.cost_ms() <= before);
      before = walk.cost_ms();
      if (step % 100 != 0) continue;
      const Plan plan = walk.plan();
      BOOST_TEST(validate(workload, plan).message() == "");
      BOOST_TEST(io::check_plan_sharding(workload, plan).message() == "");
      const PlanCost cost = torchrec_cost(workload, plan);
      BOOST_TEST(cost.cost_ms == walk.cost_ms(), boost::test_tools::tolerance(1e-9));
      for (const DeviceCost& one : cost.per_device) BOOST_TEST(one.memory_bytes <= memory);
      for (const std::int64_t bytes : host_bytes(workload, plan, 2)) {
        BOOST_TEST(bytes <= hosts.memory_bytes);
      }
      BOOST_TEST(plan.shards[14].device != plan.shards[15].device);  // of the last table
    }
    BOOST_TEST(walk.cost_ms() < 0.9 * began);
  }
}

BOOST_AUTO_TEST_CASE(row_shards_and_tables_on_every_device_stay_where_they_are) {
  Workload workload = large_tables(6, 4);
  workload.tables[1].rows = 1000;
  Plan start = in_turn(workload, 2);
  start.shards[1] = whole_table(workload, 1, kEveryDevice);
  Shard& first = start.shards[0];
  first.row_end /= 2;
  Shard second = first;
  std::tie(second.row_begin, second.row_end) = std::pair(first.row_end, 2 * first.row_end);
  second.device = 1;
  start.shards.insert(start.shards.begin() + 1, second);
  const OffloadCosts costs(workload, {2, 4 * kGiB});
  KernelWalk walk = walk_from(costs, {1, 2, 400 * kGiB}, start);
  const double began = walk.cost_ms();
  for (int step = 0; step < 1000; ++step) walk.step();
  const Plan plan = walk.plan();
  for (const std::size_t k : {0, 1, 2}) {
    BOOST_TEST(plan.shards[k].device == start.shards[k].device, k);
  }
  BOOST_TEST(walk.cost_ms() < began);
  BOOST_TEST(validate(workload, plan).message() == "");
}

BOOST_AUTO_TEST_CASE(the_same_seed_walks_the_same) {
  const Workload workload = large_tables(12, 5);
  const Plan start = in_turn(workload, 3);
  const OffloadCosts costs(workload, {3, 3 * kGiB});
  KernelWalk one = walk_from(costs, {1, 3, 400 * kGiB}, start);
  KernelWalk other = walk_from(costs, {1, 3, 400 * kGiB}, start);
  for (int step = 0; step < 500; ++step) {
    one.step();
    other.step();
  }
  BOOST_TEST((one.plan() == other.plan()));
  BOOST_TEST((one.plan() != start));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
