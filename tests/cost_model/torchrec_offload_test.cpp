// What TorchRec's formula says of tables in host memory, and that networks say nothing.
#include <boost/test/unit_test.hpp>

#include "engine/core/shard_bytes.h"
#include "engine/cost_model/torchrec_evaluator.h"
#include "engine/planner/planner.h"
#include "tests/cost_model/torchrec_example.h"
#include "tests/support/kernels.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(torchrec_offload)

namespace {

using test::example;
using test::torchrec;

constexpr TableKernel kUvm{ComputeKernel::kFusedUvm, 0};
constexpr double kUsualLoadFactor = 0.2;  // TorchRec's, where nobody says another

TableKernel cache_of(double load_factor) { return {ComputeKernel::kFusedUvmCaching, load_factor}; }

double shape_cost(const TorchRecCosts& costs, const TableKernel& kernel, std::int32_t devices,
                  ShardShape shape) {
  const Workload workload = example();
  shape.kernel = kernel;
  TorchRecEvaluator evaluator(costs, workload, devices);
  return evaluator.shape_cost(evaluator.intern(shape));
}

}  // namespace

// TorchRec 1.4's own numbers: what its EmbeddingEnumerator says of the sharding options of such a
// table with those compute kernels and CacheParams(load_factor).
BOOST_AUTO_TEST_CASE(offloaded_tables_cost_what_torchrecs_estimator_says) {
  const auto check = [](std::int32_t devices, const ShardShape& shape, double uvm, double third,
                        double usual) {
    const auto tolerance = boost::test_tools::tolerance(1e-12);
    BOOST_TEST(shape_cost({}, kUvm, devices, shape) == uvm, tolerance);
    BOOST_TEST(shape_cost({}, cache_of(0.3), devices, shape) == third, tolerance);
    BOOST_TEST(shape_cost({}, cache_of(kUsualLoadFactor), devices, shape) == usual, tolerance);
  };
  check(2, {0, 1000, 128}, 118.66495768229166, 13.119416452258434, 18.611216971544714);
  check(2, {0, 1000, 64}, 69.01418050130208, 7.62253653873642, 10.816898501016256);
  check(2, {0, 500, 128}, 98.00760904947916, 10.851714372498574, 15.386655233739837);
  check(16, {0, 1000, 128}, 123.560791015625, 18.015249785591767, 23.50705030487805);
  check(16, {0, 63, 128}, 63.85047912597656, 11.460429955510293, 14.186416253810975);
  check(16, {0, 125, 128, 8}, 65.1586405436198, 7.802042015080046, 10.786450393800813);
}

// The same of Topology(hbm_mem_bw=2000 * GB, intra_host_bw=450 * GB, inter_host_bw=50 * GB,
// hbm_to_ddr_mem_bw=100 * GB).
BOOST_AUTO_TEST_CASE(other_bandwidths_of_host_memory_cost_what_torchrecs_estimator_says) {
  const TorchRecCosts costs{{{2000, 450, 50, 100}}, 8};
  const auto tolerance = boost::test_tools::tolerance(1e-12);
  const auto check = [&](std::int32_t devices, const ShardShape& shape, double uvm, double third) {
    BOOST_TEST(shape_cost(costs, kUvm, devices, shape) == uvm, tolerance);
    BOOST_TEST(shape_cost(costs, cache_of(0.3), devices, shape) == third, tolerance);
  };
  check(2, {0, 1000, 128}, 38.078342013888886, 5.801493832918741);
  check(2, {0, 500, 128}, 31.467990451388886, 4.814874196724711);
  check(16, {0, 63, 128}, 20.0821533203125, 4.060769152285449);
  check(16, {0, 125, 128, 8}, 20.91257052951389, 3.372367491967248);
}

// Caches serve what the table's access curve says: the time of a byte is that of either memory.
BOOST_AUTO_TEST_CASE(by_access_curves_caches_serve_what_hot_rows_are_looked_up) {
  Workload workload;
  workload.batch_size = 65536;
  Table& table = workload.tables.emplace_back();
  table.rows = 1'000'000;
  table.dim = 128;
  table.pooling_factor = 10;
  table.reuse_histogram = expected_reuse(table.rows, 655360, 1.05).histogram;
  table.kernels.fused_uvm_caching = true;
  TorchRecCosts costs;
  const auto ms = [&](const TableKernel& kernel) {
    TorchRecEvaluator evaluator(costs, workload, 2);
    const double exchange = [&] {
      const TorchRecFormula formula(costs, workload.batch_size, 2);
      const TorchRecShardCost cost = formula.whole_rows(table, 128, 1);
      return cost.forward_ms + cost.backward_ms;
    }();
    return evaluator.shape_cost(
               evaluator.intern({.table = 0, .rows = table.rows, .dim = 128, .kernel = kernel})) -
           exchange;
  };
  const double on_device = ms({});
  const double five_percent = ms(cache_of(0.05));
  costs.cache_hits = CacheHits::kCurve;
  BOOST_TEST(ms({}) == on_device);
  const double on_host = ms(kUvm);
  BOOST_TEST(on_host == on_device * 897 / 32, boost::test_tools::tolerance(1e-9));
  const AccessCurve curve(table.reuse_histogram, 655360, table.rows);
  BOOST_TEST(curve.hits(0.05) > 0.7);
  for (const double cached : {0.01, 0.05, 0.123, 0.5, 0.99}) {
    const double hits = curve.hits(cached);
    BOOST_TEST(ms(cache_of(cached)) == hits * on_device + (1 - hits) * on_host,
               boost::test_tools::tolerance(1e-9));
  }
  BOOST_TEST(ms(cache_of(0.05)) < 0.1 * five_percent);
}

// Of its EmbeddingStorageEstimator.
BOOST_AUTO_TEST_CASE(kernels_take_the_bytes_that_torchrecs_estimator_says) {
  const Table table = example().tables[0];
  const auto check = [&](const TableKernel& kernel, std::int64_t rows, std::int32_t dim,
                         std::int64_t device, std::int64_t host) {
    const ShardShape shape{.rows = rows, .dim = dim, .kernel = kernel};
    BOOST_TEST(bytes_on_device(table, shape) == device);
    BOOST_TEST(bytes_on_host(table, shape) == host);
  };
  check({}, 1000, 128, 512'000, 0);
  check(kUvm, 1000, 128, 0, 512'000);
  check(kUvm, 63, 128, 0, 32'256);
  check(cache_of(0.25), 1000, 128, 136'000, 512'000);
  check(cache_of(0.25), 1000, 64, 72'000, 256'000);
  // 15.75 rows in the cache are 16 here, TorchRec counts parts of one: 8,568.
  check(cache_of(0.25), 63, 128, 8'700, 32'256);
}

BOOST_AUTO_TEST_CASE(lookups_cost_as_much_more_as_their_kernel_is_slower) {
  // One device exchanges nothing with others; the formula counts it all the same.
  const ShardShape whole{0, 1000, 128};
  const double exchange = 2 * 65536.0 * 128 * 4 / (600 * 1024.0 * 1024 * 1024 / 1000);
  const auto compute = [&](const TableKernel& kernel) {
    return shape_cost({}, kernel, 4, whole) - exchange;
  };
  const double fused = compute({});
  const auto tolerance = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(compute(kUvm) == fused * 897 / (0.1 * 32), tolerance);
  for (const double share : {0.05, 0.2, 0.5, 1.0}) {
    BOOST_TEST(compute(cache_of(share)) == fused * 897 / (0.1 * (share * 897 + (1 - share) * 32)),
               tolerance);
  }
}

BOOST_AUTO_TEST_CASE(plans_cost_what_their_kernels_do) {
  const Workload workload = example();
  Plan plan{2, {{0, 0, 1000, 0, 128, 0}, {1, 0, 500, 0, 64, 1}, {2, 0, 100, 0, 16, 1}}};
  test::set_offloaded(plan, {{1, kUvm}});
  const PlanCost cost = simulate(workload, plan, torchrec()).value();
  TorchRecEvaluator evaluator({}, workload, 2);
  const auto alone = [&](const ShardShape& shape) {
    return evaluator.shape_cost(evaluator.intern(shape));
  };
  const auto tolerance = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(cost.per_device[0].total_ms() == alone({0, 1000, 128}), tolerance);
  BOOST_TEST(
      cost.per_device[1].total_ms() == alone({1, 500, 64, 0, false, kUvm}) + alone({2, 100, 16}),
      tolerance);
  BOOST_TEST(cost.per_device[0].memory_bytes == 1000 * 128 * 4);
  BOOST_TEST(cost.per_device[0].host_bytes == 0);
  BOOST_TEST(cost.per_device[1].memory_bytes == 100 * 16 * 4);
  BOOST_TEST(cost.per_device[1].host_bytes == 500 * 64 * 4);
}

BOOST_AUTO_TEST_CASE(networks_refuse_offloaded_tables) {
  const CostModels networks = load_cost_models("h200_sim")->models;
  Plan plan{2, {{0, 0, 1000, 0, 128, 0}, {1, 0, 500, 0, 64, 1}, {2, 0, 100, 0, 16, 1}}};
  BOOST_TEST_REQUIRE(simulate(example(), plan, networks).ok());
  test::set_offloaded(plan, {{1, cache_of(0.2)}});
  const Status refused = simulate(example(), plan, networks).status();
  BOOST_TEST((refused.code() == StatusCode::kInvalidInput));
  BOOST_TEST(refused.message() ==
             "table 1 (b): found the kernel fused_uvm_caching, networks have learned fused ones: "
             "the cost model torchrec alone knows host memory");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
