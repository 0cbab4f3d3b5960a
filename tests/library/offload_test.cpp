// Tables in host memory through the library: planned, looked into, and as files.

#include <string>
#include <vector>

#include "tests/library/support.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

constexpr std::int64_t kTableBytes = std::int64_t{1000000} * 128 * 4;
constexpr std::int64_t kHostMemory = std::int64_t{16} << 30;

/// `count` tables that all have `kernels` forbidden.
Workload large_tables(int count, std::uint32_t forbidden_kernels = 0,
                      double cache_load_factor = 0) {
  Workload workload = must(Workload::create(65536));
  for (int index = 0; index < count; ++index) {
    Table table{
        .name = std::to_string(index), .rows = 1000000, .dim = 128, .pooling_factor = 1.0 + index};
    table.forbidden_kernels = forbidden_kernels;
    table.cache_load_factor = cache_load_factor;
    BOOST_REQUIRE(workload.add(table).ok());
  }
  return workload;
}

/// Two devices on one host, each with room for a table and a half.
Cluster small_cluster(std::int64_t host_memory_bytes) {
  return {
      .devices = 2, .memory_bytes = kTableBytes * 3 / 2, .host_memory_bytes = host_memory_bytes};
}
const Cluster kSmall = small_cluster(kHostMemory);

const PlanOptions kFewEvaluations{.evaluations = 1000, .threads = 1};

/// Shards of the plan that are in host memory.
std::vector<Shard> offloaded(const Plan& plan) {
  std::vector<Shard> shards = plan.shards();
  std::erase_if(shards, [](const Shard& s) { return s.kernel == NEUROSHARD_KERNEL_FUSED; });
  return shards;
}

std::int64_t host_bytes(const Plan& plan) {
  std::int64_t bytes = 0;
  for (const DeviceCost& device : plan.device_costs()) bytes += device.host_bytes;
  return bytes;
}

Planner formula_planner(const TorchRecBandwidths& bandwidths = {}) {
  return must(Planner::create(must(CostModels::torchrec(bandwidths))));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(offload)

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_planned_into_host_memory) {
  const Planner planner = formula_planner();
  const Workload workload = large_tables(6);
  const Result<Plan> without = planner.plan(workload, small_cluster(0), kFewEvaluations);
  BOOST_REQUIRE(!without.ok());
  BOOST_TEST(without.error().status == NEUROSHARD_INFEASIBLE);
  const Plan plan = must(planner.plan(workload, kSmall, kFewEvaluations));
  BOOST_TEST(plan.check(workload, kSmall).ok());
  const std::vector<Shard> elsewhere = offloaded(plan);
  BOOST_REQUIRE(!elsewhere.empty());
  std::int64_t expected = 0;
  for (const Shard& shard : plan.shards()) {
    const bool cached = shard.kernel == NEUROSHARD_KERNEL_FUSED_UVM_CACHING;
    BOOST_TEST((cached || shard.kernel == NEUROSHARD_KERNEL_FUSED_UVM ||
                shard.kernel == NEUROSHARD_KERNEL_FUSED));
    BOOST_TEST((shard.cache_load_factor > 0) == cached);
    BOOST_TEST(shard.cache_load_factor <= 1);
    const std::int64_t columns = shard.column_end - shard.column_begin;
    if (shard.kernel == NEUROSHARD_KERNEL_FUSED) continue;
    expected += (shard.row_end - shard.row_begin) * columns * 4;
  }
  BOOST_TEST(host_bytes(plan) == expected);
  for (const DeviceCost& device : plan.device_costs()) {
    BOOST_TEST(device.memory_bytes <= kSmall.memory_bytes);
  }
  BOOST_TEST(must(planner.simulate(workload, plan)).cost_ms() == plan.cost_ms());
  // Its file keeps all that, and going on from it, too.
  const std::string file = must(plan.export_as(workload));
  const Plan read = must(Plan::parse(file, "file"));
  BOOST_TEST(must(read.export_as(workload)) == file);
  BOOST_TEST(host_bytes(read) == host_bytes(plan));
  BOOST_TEST(offloaded(read).size() == elsewhere.size());
  const Plan next = must(planner.replan(workload, kSmall, plan, 0, kFewEvaluations));
  BOOST_TEST(offloaded(next).size() == elsewhere.size());
  BOOST_TEST(must(next.moved_bytes(workload, plan)) == 0);
  const std::string csv = must(plan.export_as(workload, "csv"));
  BOOST_TEST(csv.find(",compute_kernel,cache_load_factor,host_bytes\n") != std::string::npos);
  const Result<std::string> lists = plan.export_as(workload, "hugectr");
  BOOST_REQUIRE(!lists.ok());
  BOOST_TEST(lists.error().message.find("have no place for tables there") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(plans_made_by_hand_may_have_such_tables) {
  const Planner planner = formula_planner();
  const Workload workload = large_tables(6);
  const Plan found = must(planner.plan(workload, kSmall, kFewEvaluations));
  const Plan again = must(Plan::create(2, workload.batch_size(), found.shards()));
  BOOST_TEST(must(planner.simulate(workload, again)).cost_ms() == found.cost_ms());
  BOOST_TEST(again.check(workload, kSmall).ok());
  // Shards without a kernel are on devices, where all of a table's are.
  std::vector<Shard> halves{whole_table(workload, 0, 0), whole_table(workload, 0, 1)};
  halves[0].column_end = halves[1].column_begin = 64;
  Workload one = must(Workload::create());
  BOOST_REQUIRE(one.add(must(workload.table(0))).ok());
  const Plan fused = must(Plan::create(2, one.batch_size(), halves));
  BOOST_TEST(fused.check(one, kSmall).ok());
  BOOST_TEST(fused.shards()[0].kernel == NEUROSHARD_KERNEL_FUSED);
  halves[1].kernel = NEUROSHARD_KERNEL_FUSED_UVM;
  const Result<void> mixed = must(Plan::create(2, one.batch_size(), halves)).check(one, kSmall);
  BOOST_REQUIRE(!mixed);
  BOOST_TEST(mixed.error().message ==
             "shards[1]: found the kernel fused_uvm, expected fused as the table's other shards "
             "have it");
}

BOOST_AUTO_TEST_CASE(plans_are_held_against_the_memory_of_hosts) {
  const Planner planner = formula_planner();
  const Workload workload = large_tables(6);
  const Plan plan = must(planner.plan(workload, kSmall, kFewEvaluations));
  const std::int64_t on_host = host_bytes(plan);
  BOOST_TEST(plan.check(workload, small_cluster(on_host)).ok());
  BOOST_TEST(plan.check(workload, small_cluster(0)).ok());
  const Result<void> refused = plan.check(workload, small_cluster(on_host - 1));
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(refused.error().status == NEUROSHARD_INFEASIBLE);
  BOOST_TEST(refused.error().message.find("host 0 holds ") == 0U, refused.error().message);
  BOOST_TEST(!planner.replan(workload, small_cluster(on_host - 1), plan, 0, kFewEvaluations).ok());
  // The same on a host each: one of them has about half.
  Cluster apart = small_cluster(on_host - 1);
  apart.devices_per_host = 1;
  BOOST_TEST(plan.check(workload, apart).ok());
}

BOOST_AUTO_TEST_CASE(plans_that_fit_have_no_such_tables) {
  const Planner planner = formula_planner();
  const Workload workload = large_tables(2);
  const Plan plan = must(planner.plan(workload, cluster_of(2), kFewEvaluations));
  BOOST_TEST(offloaded(plan).empty());
  BOOST_TEST(host_bytes(plan) == 0);
  BOOST_TEST(must(plan.export_as(workload)).find("offloaded") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(tables_have_the_kernels_that_they_allow_and_say_so) {
  const Planner planner = formula_planner();
  const auto kernels = [&](std::uint32_t forbidden, double cache_load_factor) {
    const Workload workload = large_tables(4, forbidden, cache_load_factor);
    const Table own = must(workload.table(3));
    BOOST_TEST(own.forbidden_kernels == forbidden);
    BOOST_TEST(own.cache_load_factor == cache_load_factor);
    const Plan plan = must(planner.plan(workload, kSmall, kFewEvaluations));
    BOOST_TEST(plan.check(workload, kSmall).ok());
    return offloaded(plan);
  };
  constexpr std::uint32_t kNotFused = NEUROSHARD_KERNEL_FUSED;
  const auto uvm = kernels(kNotFused | NEUROSHARD_KERNEL_FUSED_UVM_CACHING, 0);
  BOOST_TEST(uvm.size() >= 4U);
  for (const Shard& shard : uvm) BOOST_TEST(shard.kernel == NEUROSHARD_KERNEL_FUSED_UVM);
  const auto cached = kernels(kNotFused | NEUROSHARD_KERNEL_FUSED_UVM, 0.25);
  BOOST_TEST(cached.size() >= 4U);
  for (const Shard& shard : cached) {
    BOOST_TEST(shard.kernel == NEUROSHARD_KERNEL_FUSED_UVM_CACHING);
    BOOST_TEST(shard.cache_load_factor == 0.25);
  }
  // A plan of other kernels is held against that.
  const Plan plan = must(planner.plan(large_tables(4, kNotFused), kSmall, kFewEvaluations));
  const Workload fused_only =
      large_tables(4, NEUROSHARD_KERNEL_FUSED_UVM | NEUROSHARD_KERNEL_FUSED_UVM_CACHING);
  const Result<void> refused = plan.check(fused_only, kSmall);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(refused.error().status == NEUROSHARD_INVALID_INPUT);
  BOOST_TEST(refused.error().message.find("it may have fused") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(tables_too_large_for_a_count_of_bytes_are_refused) {
  const Planner planner = formula_planner();
  Workload workload = must(Workload::create(65536));
  const Table huge{.name = "huge", .rows = std::int64_t{1} << 59, .dim = 1, .pooling_factor = 1};
  BOOST_REQUIRE(workload.add(huge).ok());
  const Result<Plan> plan = planner.plan(workload, small_cluster(INT64_MAX), kFewEvaluations);
  BOOST_REQUIRE(!plan.ok());
  BOOST_TEST(plan.error().status == NEUROSHARD_INVALID_INPUT);
  BOOST_TEST(plan.error().message.find("expected below 2^63 bytes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_bandwidth_of_host_memory_is_the_formulas) {
  const Workload workload =
      large_tables(4, NEUROSHARD_KERNEL_FUSED | NEUROSHARD_KERNEL_FUSED_UVM_CACHING);
  const Plan usual = must(formula_planner().plan(workload, kSmall, kFewEvaluations));
  const Planner same = formula_planner({.host_memory_gbps = 32});
  BOOST_TEST(must(same.simulate(workload, usual)).cost_ms() == usual.cost_ms());
  const Planner faster = formula_planner({.host_memory_gbps = 64});
  const Plan fast = must(faster.simulate(workload, usual));
  // Next to reading from there, exchanges cost little.
  BOOST_TEST(fast.cost_ms() < 0.51 * usual.cost_ms());
  BOOST_TEST(must(fast.export_as(workload)).find("to host memory 64 GB/s") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(caches_serve_hot_rows_where_that_is_asked_for) {
  const Workload workload = large_tables(4, NEUROSHARD_KERNEL_FUSED | NEUROSHARD_KERNEL_FUSED_UVM);
  const Planner curves = formula_planner({.cache_hits = "curve"});
  const Plan plan = must(curves.plan(workload, kSmall, kFewEvaluations));
  BOOST_TEST(detail::view(plan.info().cache_hits) == "curve");
  const Plan same = must(formula_planner({.cache_hits = "load-factor"}).simulate(workload, plan));
  BOOST_TEST(same.cost_ms() == must(formula_planner().simulate(workload, plan)).cost_ms());
  BOOST_TEST(same.cost_ms() > plan.cost_ms());
  BOOST_TEST(detail::view(same.info().cache_hits).empty());
  const Result<CostModels> unknown = CostModels::torchrec({.cache_hits = "all"});
  BOOST_REQUIRE(!unknown.ok());
  BOOST_TEST(unknown.error().message ==
             "bandwidths.cache_hits: found 'all', expected 'load-factor' or 'curve'");
}

BOOST_AUTO_TEST_CASE(networks_plan_nothing_there_and_say_so) {
  Log log;
  const neuroshard_planner_options options = log.options();
  const Planner networks = must(Planner::create(must(CostModels::shipped()), &options));
  const Workload workload = large_tables(6);
  const std::string warning =
      "cluster.host_memory_bytes: changes nothing, h200_sim knows no tables in host memory\n";
  const Result<Plan> none = networks.plan(workload, kSmall, kFewEvaluations);
  BOOST_REQUIRE(!none.ok());
  BOOST_TEST(none.error().status == NEUROSHARD_INFEASIBLE);
  BOOST_TEST(log.take(warning));
  BOOST_TEST(!networks.plan(workload, small_cluster(0), kFewEvaluations).ok());
  BOOST_TEST(!log.take("host_memory"));
  const Plan plan = must(formula_planner().plan(workload, kSmall, kFewEvaluations));
  const Result<Plan> costed = networks.simulate(workload, plan);
  BOOST_REQUIRE(!costed.ok());
  BOOST_TEST(costed.error().message.find("the cost model torchrec alone knows host memory") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
