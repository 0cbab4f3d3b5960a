// Caches of any size: how they are given the memory that a plan leaves, and what no plan with such
// caches costs less than.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <vector>

#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/shard_bytes.h"
#include "engine/planner/offload/offload_bound.h"
#include "engine/planner/offload/settle_kernels.h"
#include "tests/engine/offload_costs.h"
#include "tests/support/kernels.h"
#include "tests/support/offload_example.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(cache_sizes)

using test::kGiB;
using test::large_tables;
using test::OffloadCosts;
using test::torchrec_cost;

namespace {

constexpr TableKernel kUvm{ComputeKernel::kFusedUvm, 0};

/// Whole tables and halves of columns on random devices, all in host memory.
Plan random_plan(const Workload& workload, std::int32_t devices, std::mt19937& random) {
  Plan plan{devices, {}};
  const auto any = [&] { return static_cast<std::int32_t>(random() % unsigned(devices)); };
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    const Table& own = workload.tables[static_cast<std::size_t>(table)];
    const std::int32_t middle = random() % 2 == 0 ? own.dim : own.dim / 2;
    plan.shards.push_back({table, 0, own.rows, 0, middle, any(), kUvm});
    if (middle < own.dim) {
      plan.shards.push_back({table, 0, own.rows, middle, own.dim, any(), kUvm});
    }
  }
  return plan;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_cache_takes_all_memory_that_is_left) {
  const Workload workload = large_tables(1, 1);
  const Table& table = workload.tables[0];
  Plan plan{1, {whole_table(workload, 0, 0)}};
  for (const std::int64_t memory : {kGiB, 7 * kGiB, 20 * kGiB}) {
    test::set_offloaded(plan, {{0, {ComputeKernel::kFusedUvm, 0}}});
    const OffloadCosts costs(workload, {1, memory});
    settle_kernels(costs, plan);
    BOOST_REQUIRE(has_offloaded(plan));
    const std::int64_t left = memory - device_bytes(workload, plan)[0];
    BOOST_TEST(left >= 0);
    // A ten-thousandth of the rows does not fit any more.
    BOOST_TEST(left < (table.rows / 10'000 + 1) * cached_row_bytes(table, table.dim));
  }
  test::set_offloaded(plan, {{0, {ComputeKernel::kFusedUvm, 0}}});
  const OffloadCosts costs(workload, {1, 64 * kGiB});
  settle_kernels(costs, plan);
  BOOST_TEST(!has_offloaded(plan));  // nothing is cheaper than the device's own memory
}

BOOST_AUTO_TEST_CASE(the_largest_cache_of_few_rows_is_found_as_well) {
  for (const std::int64_t rows : {1, 2, 7, 40, 5001, 123'456}) {
    Workload workload = large_tables(1, 1);
    Table& table = workload.tables[0];
    table.rows = rows;
    Plan plan{1, {whole_table(workload, 0, 0, kUvm)}};
    const std::int64_t least = device_bytes(workload, plan)[0];
    for (const double share : {0.0, 0.3, 0.5, 0.99}) {
      table.kernels.fused = false;
      const auto cached = static_cast<std::int64_t>(share * static_cast<double>(rows));
      const std::int64_t memory = least + 4 * rows + cached * cached_row_bytes(table, table.dim);
      const OffloadCosts costs(workload, {1, memory});
      Arrangement arrangement{{0}, {{ComputeKernel::kFusedUvm, 0}}};
      const auto shapes = shapes_of(plan);
      const double factor = settle(costs, shapes, arrangement).kernels[0].load_factor;
      double largest = 0;
      for (int steps = 100; steps <= 9900; ++steps) {
        const TableKernel kernel{ComputeKernel::kFusedUvmCaching, steps / 10'000.0};
        if (costs.get().shard_bytes(shapes[0], kernel) <= memory) largest = kernel.load_factor;
      }
      BOOST_TEST(factor == largest, rows << " rows, " << share);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_would_take_long_has_no_bound) {
  Workload workload = large_tables(2, 1);
  const OffloadCosts narrow(workload, {4, kGiB});
  BOOST_TEST(offload_lower_bound(narrow, narrow.evaluator(), {4e9, 1e15}, {}).has_value());
  for (Table& table : workload.tables) table.dim = 20'000;
  const OffloadCosts wide(workload, {4, kGiB});
  BOOST_TEST(!offload_lower_bound(wide, wide.evaluator(), {4e9, 1e15}, {}).has_value());
}

BOOST_AUTO_TEST_CASE(too_little_memory_for_the_smallest_cache_is_left_alone) {
  const Workload workload = large_tables(1, 1);
  Plan plan{1, {whole_table(workload, 0, 0, kUvm)}};
  const Plan before = plan;
  const OffloadCosts costs(workload, {1, kGiB / 4});
  settle_kernels(costs, plan);
  BOOST_TEST((plan == before));
}

BOOST_AUTO_TEST_CASE(no_device_gets_dearer_or_too_full_and_the_dearest_has_nothing_left_to_gain) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    const Workload workload = large_tables(12, round);
    const Plan before = random_plan(workload, 4, random);
    const std::vector<std::int64_t> least = device_bytes(workload, before);
    const std::int64_t memory =
        *std::max_element(least.begin(), least.end()) + (1 + round % 4) * kGiB;
    Plan after = before;
    const OffloadCosts costs(workload, {4, memory});
    settle_kernels(costs, after);
    BOOST_TEST((test::with_offloaded(after, {}) == test::with_offloaded(before, {})));
    const PlanCost was = torchrec_cost(workload, before);
    const PlanCost is = torchrec_cost(workload, after);
    std::size_t dearest = 0;
    for (std::size_t d = 0; d < 4; ++d) {
      BOOST_TEST(is.per_device[d].total_ms() <= was.per_device[d].total_ms() * (1 + 1e-9));
      BOOST_TEST(is.per_device[d].memory_bytes <= memory);
      if (is.per_device[d].total_ms() > is.per_device[dearest].total_ms()) dearest = d;
    }
    for (const OffloadedTable& offloaded : offloaded_tables(after)) {
      Plan more = after;
      for (Shard& shard : more.shards) {
        if (shard.table != offloaded.table) continue;
        shard.kernel = {ComputeKernel::kFusedUvmCaching, offloaded.kernel.load_factor + 0.01};
      }
      const PlanCost then = torchrec_cost(workload, more);
      const bool fits = std::all_of(then.per_device.begin(), then.per_device.end(),
                                    [&](const auto& d) { return d.memory_bytes <= memory; });
      const bool cheaper =
          then.per_device[dearest].total_ms() < is.per_device[dearest].total_ms() * (1 - 1e-9);
      BOOST_TEST(!(fits && cheaper), "table " << offloaded.table);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_bound_holds_for_caches_of_any_size_and_is_near) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> any(kLeastCache, kMostCache);
  double farthest = 0;
  for (int round = 0; round < 200; ++round) {
    Workload workload = large_tables(1 + round % 3, round);
    // Bounds would have a share of it on the device.
    if (workload.tables.size() == 1) workload.tables[0].kernels.fused = false;
    if (round % 5 == 0) workload.tables[0].kernels.load_factor = any(random);
    Plan plan{1, {}};
    for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
      const double own = workload.tables[static_cast<std::size_t>(table)].kernels.load_factor;
      plan.shards.push_back(whole_table(
          workload, table, 0, {ComputeKernel::kFusedUvmCaching, own > 0 ? own : any(random)}));
    }
    const PlanCost cost = torchrec_cost(workload, plan);
    const auto memory = static_cast<double>(cost.per_device[0].memory_bytes);
    const auto host = static_cast<double>(cost.per_device[0].host_bytes);
    const OffloadCosts costs(workload, {1, cost.per_device[0].memory_bytes});
    const double bound = offload_lower_bound(costs, costs.evaluator(), {memory, host}, {}).value();
    BOOST_TEST(bound <= cost.cost_ms);
    if (workload.tables.size() == 1) farthest = std::max(farthest, cost.cost_ms / bound - 1);
  }
  // Of one table the plan is the best there is: all its memory is the cache's.
  BOOST_TEST(farthest < 0.03);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
