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
  const std::vector<OffloadedTable> tables = plan.offloaded();
  BOOST_REQUIRE(!tables.empty());
  BOOST_TEST(plan.info().offloaded_count == tables.size());
  for (std::size_t k = 0; k < tables.size(); ++k) {
    if (k > 0) BOOST_TEST(tables[k].table > tables[k - 1].table);
    const bool cached = tables[k].kernel == NEUROSHARD_KERNEL_FUSED_UVM_CACHING;
    BOOST_TEST((cached || tables[k].kernel == NEUROSHARD_KERNEL_FUSED_UVM));
    BOOST_TEST((tables[k].cache_load_factor > 0) == cached);
    BOOST_TEST(tables[k].cache_load_factor <= 1);
  }
  neuroshard_offloaded_table one{-1, -1, -1};
  if (tables.size() > 1) {
    BOOST_TEST(neuroshard_plan_get_offloaded(plan.get(), &one, 1, nullptr) ==
               NEUROSHARD_INVALID_INPUT);
    BOOST_TEST(one.table == -1);
  }
  std::int64_t on_hosts = 0;
  for (const std::int64_t bytes : plan.host_bytes()) on_hosts += bytes;
  BOOST_TEST(plan.host_bytes().size() == 2U);
  BOOST_TEST(on_hosts == static_cast<std::int64_t>(tables.size()) * kTableBytes);
  for (const DeviceCost& device : plan.device_costs()) {
    BOOST_TEST(device.memory_bytes <= kSmall.memory_bytes);
  }
  BOOST_TEST(must(planner.simulate(workload, plan)).cost_ms() == plan.cost_ms());
  // Its file keeps all that, and going on from it, too.
  const std::string file = must(plan.export_as(workload));
  const Plan read = must(Plan::parse(file, "file"));
  BOOST_TEST(must(read.export_as(workload)) == file);
  BOOST_TEST(read.host_bytes() == plan.host_bytes(), boost::test_tools::per_element());
  BOOST_TEST(read.offloaded().size() == tables.size());
  const Plan next = must(planner.replan(workload, kSmall, plan, 0, kFewEvaluations));
  BOOST_TEST(next.offloaded().size() == tables.size());
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
  const Plan again =
      must(Plan::create(2, workload.batch_size(), found.shards(), found.offloaded()));
  BOOST_TEST(must(planner.simulate(workload, again)).cost_ms() == found.cost_ms());
  BOOST_TEST(again.check(workload, kSmall).ok());
  const std::vector<OffloadedTable> unknown{{6, NEUROSHARD_KERNEL_FUSED_UVM, 0}};
  BOOST_TEST(Plan::create(2, workload.batch_size(), found.shards(), unknown).error().message ==
             "offloaded[0]: table 6 has no shards, expected one that has");
}

BOOST_AUTO_TEST_CASE(plans_are_held_against_the_memory_of_hosts) {
  const Planner planner = formula_planner();
  const Workload workload = large_tables(6);
  const Plan plan = must(planner.plan(workload, kSmall, kFewEvaluations));
  const auto on_host = static_cast<std::int64_t>(plan.offloaded().size()) * kTableBytes;
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
  BOOST_TEST(plan.offloaded().empty());
  for (const std::int64_t bytes : plan.host_bytes()) BOOST_TEST(bytes == 0);
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
    return plan.offloaded();
  };
  constexpr std::uint32_t kNotFused = NEUROSHARD_KERNEL_FUSED;
  const auto uvm = kernels(kNotFused | NEUROSHARD_KERNEL_FUSED_UVM_CACHING, 0);
  BOOST_TEST(uvm.size() == 4U);
  for (const OffloadedTable& table : uvm) BOOST_TEST(table.kernel == NEUROSHARD_KERNEL_FUSED_UVM);
  const auto cached = kernels(kNotFused | NEUROSHARD_KERNEL_FUSED_UVM, 0.25);
  BOOST_TEST(cached.size() == 4U);
  for (const OffloadedTable& table : cached) {
    BOOST_TEST(table.kernel == NEUROSHARD_KERNEL_FUSED_UVM_CACHING);
    BOOST_TEST(table.cache_load_factor == 0.25);
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

BOOST_AUTO_TEST_CASE(networks_plan_nothing_there_and_say_so) {
  std::string log;
  neuroshard_planner_options options{};
  options.struct_size = sizeof options;
  options.log = [](void* lines, std::int32_t, neuroshard_text line) {
    static_cast<std::string*>(lines)->append(line.data, line.size).append("\n");
  };
  options.log_user_data = &log;
  const Planner networks = must(Planner::create(must(CostModels::shipped()), &options));
  const Workload workload = large_tables(6);
  const std::string warning =
      "cluster.host_memory_bytes: changes nothing, h200_sim knows no tables in host memory\n";
  const Result<Plan> none = networks.plan(workload, kSmall, kFewEvaluations);
  BOOST_REQUIRE(!none.ok());
  BOOST_TEST(none.error().status == NEUROSHARD_INFEASIBLE);
  BOOST_TEST(log.find(warning) != std::string::npos, log);
  log.clear();
  BOOST_TEST(!networks.plan(workload, small_cluster(0), kFewEvaluations).ok());
  BOOST_TEST(log.find("host_memory") == std::string::npos, log);
  const Plan plan = must(formula_planner().plan(workload, kSmall, kFewEvaluations));
  const Result<Plan> costed = networks.simulate(workload, plan);
  BOOST_REQUIRE(!costed.ok());
  BOOST_TEST(costed.error().message.find("the cost model torchrec alone knows host memory") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
