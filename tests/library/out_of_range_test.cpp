// Values out of range that are handed to the C interface: the answer is a status and one line of
// text.
#include <limits>
#include <vector>

#include "tests/library/refusals.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

BOOST_AUTO_TEST_SUITE(out_of_range)

BOOST_AUTO_TEST_CASE(tables_out_of_range) {
  const ErrorHandle error;
  const auto refused = [&](auto change, const char* words) {
    neuroshard_table table = good_table();
    change(table);
    EXPECT_REFUSED(add(table, error), words);
  };
  std::vector<double> shares(17, 1.0 / 17);
  refused([](auto& t) { t.rows = 0; }, "rows");
  refused([](auto& t) { t.rows = INT64_MIN; }, "rows");
  refused([](auto& t) { t.rows = INT64_MAX; }, "bytes");
  refused([](auto& t) { t.dim = 0; }, "dim");
  refused([](auto& t) { t.dim = INT32_MAX; }, "dim");
  refused([](auto& t) { t.reserved = 1; }, "reserved");
  for (const double value : {kNan, kInfinity, -kInfinity, -1.0, 1e300}) {
    refused([&](auto& t) { t.pooling_factor = value; }, "pooling_factor");
    refused([&](auto& t) { t.zipf_alpha = value; }, "zipf_alpha");
    refused(
        [&](auto& t) {
          shares[3] = value;
          t.reuse_histogram = shares.data();
          t.reuse_histogram_size = 17;
        },
        "histogram");
  }
  refused([&](auto& t) { t.reuse_histogram_size = 17; }, "histogram: found NULL");
  for (const std::size_t size : {std::size_t{0}, std::size_t{16}, SIZE_MAX}) {
    refused(
        [&](auto& t) {
          t.reuse_histogram = shares.data();
          t.reuse_histogram_size = size;
        },
        "reuse_histogram_size");
  }
  const std::vector<double> zeros(17, 0.0);
  refused(
      [&](auto& t) {
        t.reuse_histogram = zeros.data();
        t.reuse_histogram_size = 17;
      },
      "table.reuse_histogram: found zeros alone for a pooling factor of 1");
  refused([](auto& t) { t.data_type = text("fp8"); }, "fp8");
  refused([](auto& t) { t.optimizer = text("ftrl"); }, "ftrl");
  refused([](auto& t) { t.features = -1; }, "features is -1");
  refused([](auto& t) { t.weighted = 2; }, "table.weighted: found 2");
  refused([](auto& t) { t.unpooled = -1; }, "table.unpooled: found -1");
  refused([](auto& t) { t.reserved_2 = 1; }, "table.reserved_2");
  refused([](auto& t) { t.reserved_3 = 1; }, "table.reserved_3");
  for (const std::uint32_t forbidden : {7U, 8U, 9U, UINT32_MAX}) {
    refused([&](auto& t) { t.forbidden_kernels = forbidden; }, "table.forbidden_kernels: found");
  }
  for (const double factor : {-0.1, 1.1, kNan, kInfinity, -kInfinity}) {
    refused([&](auto& t) { t.cache_load_factor = factor; }, "cache_load_factor is");
  }
  for (const std::uint32_t forbidden : {15U, 16U, 17U, UINT32_MAX}) {
    refused([&](auto& t) { t.forbidden_sharding = forbidden; }, "table.forbidden_sharding: found");
  }
  for (const std::int32_t columns : {-4, 2, 6, 1048580, INT32_MIN, INT32_MAX}) {
    refused([&](auto& t) { t.min_columns = columns; }, "min_columns is");
  }
  static constexpr std::int32_t kDevices[]{0, -1, 65536};
  const auto some = [](std::size_t first) {
    return [first](auto& t) {
      t.devices = kDevices + first;
      t.device_count = 1;
    };
  };
  refused(some(1), "table.devices: found -1, expected 0 to 65535");
  refused(some(2), "table.devices: found 65536, expected 0 to 65535");
  refused([](auto& t) { t.device_count = 1; }, "table.devices");
  refused(
      [](auto& t) {
        t.devices = kDevices;
        t.device_count = SIZE_MAX;
      },
      "table.device_count: found");
  refused([](auto& t) { t.name = text("\xff"); }, "UTF-8");
  refused([](auto& t) { t.name = {nullptr, 1}; }, "table.name");
}

BOOST_AUTO_TEST_CASE(bandwidths_out_of_range) {
  const ErrorHandle error;
  using Bandwidths = neuroshard_torchrec_bandwidths;
  const auto refused = [&](double Bandwidths::*field, const char* words) {
    for (const double gbps : {kNan, kInfinity, -kInfinity, -1.0, 1e-9, 963146547.0}) {
      Bandwidths bandwidths{};
      bandwidths.struct_size = sizeof bandwidths;
      bandwidths.*field = gbps;
      neuroshard_cost_models* models = nullptr;
      EXPECT_REFUSED(neuroshard_cost_models_torchrec(&bandwidths, &models, error.handle), words);
      BOOST_TEST(models == nullptr);
    }
  };
  Bandwidths other{};
  other.struct_size = sizeof other;
  other.model = text("torchrec-1.5");
  neuroshard_cost_models* models = nullptr;
  EXPECT_REFUSED(neuroshard_cost_models_torchrec(&other, &models, error.handle),
                 "bandwidths.model: found 'torchrec-1.5', expected 'torchrec' or 'torchrec-1.4'");
  refused(&Bandwidths::device_gbps, "bandwidths.device_gbps: found");
  refused(&Bandwidths::intra_host_gbps, "bandwidths.intra_host_gbps: found");
  refused(&Bandwidths::inter_host_gbps, "bandwidths.inter_host_gbps: found");
  refused(&Bandwidths::host_memory_gbps, "bandwidths.host_memory_gbps: found");
}

BOOST_AUTO_TEST_CASE(options_out_of_range) {
  const ErrorHandle error;
  const Planner planner = make_planner();
  const Workload workload = make_workload(2);
  const auto refused = [&](auto change, const char* words) {
    neuroshard_cluster cluster = cluster_of(2).c_struct();
    neuroshard_plan_options options{};
    options.struct_size = sizeof options;
    change(cluster, options);
    neuroshard_plan* plan = nullptr;
    EXPECT_REFUSED(neuroshard_planner_plan(planner.get(), workload.get(), &cluster, &options, &plan,
                                           error.handle),
                   words);
    BOOST_TEST(plan == nullptr);
  };
  refused([](auto& c, auto&) { c.devices = 0; }, "devices");
  refused([](auto& c, auto&) { c.devices = INT32_MIN; }, "devices");
  refused([](auto& c, auto&) { c.devices = INT32_MAX; }, "devices");
  refused([](auto& c, auto&) { c.memory_bytes = 0; }, "memory");
  refused([](auto& c, auto&) { c.memory_bytes = -1; }, "memory");
  refused([](auto& c, auto&) { c.devices_per_host = 5; }, "cluster.devices_per_host: found 5");
  refused([](auto& c, auto&) { c.devices_per_host = -1; }, "cluster.devices_per_host: found -1");
  refused([](auto&, auto& o) { o.threads = -1; }, "threads");
  refused([](auto&, auto& o) { o.threads = INT32_MAX; }, "threads");
  refused([](auto&, auto& o) { o.time_limit_s = kNan; }, "time limit");
  refused([](auto&, auto& o) { o.time_limit_s = -1; }, "time limit");
  refused([](auto&, auto& o) { o.evaluations = -1; }, "evaluations");
  refused([](auto&, auto& o) { o.algorithm = text("luck"); }, "luck");
  refused([](auto&, auto& o) { o.row_splits = -1; }, "row_splits");
  refused([](auto&, auto& o) { o.row_splits = 4; }, "row_splits");
  refused([](auto&, auto& o) { o.target = text("stone"); },
          "options.target: found 'stone', expected one of torchrec, hugectr");
  refused([](auto&, auto& o) { o.target = text("csv"); },  // no trainer reads it
          "options.target: found 'csv', expected one of torchrec, hugectr");
  refused([](auto&, auto& o) { o.reserved = 1; }, "options.reserved: found 1");
  refused([](auto&, auto& o) { o.reserved_2 = 1; }, "options.reserved_2: found 1");
  for (const std::int64_t bytes : {std::int64_t{-1}, INT64_MIN}) {
    refused([&](auto&, auto& o) { o.hot_memory_bytes = bytes; },
            "options.hot_memory_bytes: found -");
  }
  refused([](auto& c, auto&) { c.host_memory_bytes = -1; }, "cluster.host_memory_bytes: found -1");
}

BOOST_AUTO_TEST_CASE(plans_out_of_range) {
  const ErrorHandle error;
  neuroshard_plan* plan = nullptr;
  const auto shard = [](std::int64_t row_begin, std::int64_t row_end, std::int32_t column_begin,
                        std::int32_t column_end, std::int32_t table, std::int32_t device) {
    return neuroshard_shard{row_begin, row_end, column_begin, column_end, table, device, 0, 0, 0};
  };
  const neuroshard_shard good = shard(0, 10, 0, 4, 0, 0);
  EXPECT_REFUSED(neuroshard_plan_create(0, 1, &good, 1, &plan, error.handle), "devices");
  EXPECT_REFUSED(neuroshard_plan_create(1, 0, &good, 1, &plan, error.handle), "batch_size");
  for (const std::size_t count : {(std::size_t{1} << 24) + 1, SIZE_MAX}) {
    EXPECT_REFUSED(neuroshard_plan_create(1, 1, &good, count, &plan, error.handle), "count: found");
  }
  const auto refused = [&](const neuroshard_shard& bad, const char* words) {
    EXPECT_REFUSED(neuroshard_plan_create(2, 1, &bad, 1, &plan, error.handle), words);
  };
  refused(shard(-1, 10, 0, 4, 0, 0), "shards[0].row_begin");
  refused(shard(5, 5, 0, 4, 0, 0), "shards[0].row_end");
  refused(shard(0, INT64_MIN, 0, 4, 0, 0), "shards[0].row_end");
  refused(shard(0, 10, -4, 4, 0, 0), "shards[0].column_begin");
  refused(shard(0, 10, 4, 4, 0, 0), "shards[0].column_end");
  refused(shard(0, 10, 0, 4, -1, 0), "shards[0].table");
  refused(shard(0, 10, 0, 4, 0, 2), "shards[0].device: found 2, expected 0 to 1");
  refused(shard(0, 10, 0, 4, 0, -2), "shards[0].device");
  constexpr std::int32_t kUvm = NEUROSHARD_KERNEL_FUSED_UVM;
  constexpr std::int32_t kCached = NEUROSHARD_KERNEL_FUSED_UVM_CACHING;
  const auto refused_kernel = [&](std::int32_t kernel, double cache, const char* words) {
    neuroshard_shard strange = good;
    strange.kernel = kernel;
    strange.cache_load_factor = cache;
    refused(strange, words);
  };
  refused_kernel(-1, 0, "shards[0].kernel: found -1, expected one of NEUROSHARD_KERNEL_.., or 0");
  refused_kernel(kUvm | kCached, 0, "shards[0].kernel: found 6");
  refused_kernel(INT32_MIN, 0, "shards[0].kernel: found");
  refused_kernel(0, 0.5, "shards[0].cache_load_factor: ");
  refused_kernel(kUvm, 0.5, "shards[0].cache_load_factor: ");
  for (const double cache : {0.0, -0.5, 1.5, kNan, kInfinity}) {
    refused_kernel(kCached, cache, "shards[0].cache_load_factor: ");
  }
  neuroshard_shard strange = good;
  strange.reserved = 1;
  refused(strange, "shards[0].reserved: found 1, expected 0");
  strange = good;
  strange.device = NEUROSHARD_EVERY_DEVICE;
  strange.kernel = kUvm;
  refused(strange, "shards[0].kernel: found 4, expected FUSED or 0 on every device");
}

BOOST_AUTO_TEST_CASE(plans_of_another_workload) {
  const ErrorHandle error;
  const Planner planner = make_planner();
  const Workload workload = make_workload(2);
  const Workload other = make_workload(3);
  const Workload small_batch = must(Workload::create(128));
  const Plan plan = must(planner.plan(workload, cluster_of(2), {.algorithm = "neuroshard"}));
  BOOST_TEST(!planner.simulate(other, plan));
  BOOST_TEST(!plan.export_as(other));
  BOOST_TEST(!plan.check(other, cluster_of(2)));
  BOOST_TEST(!plan.check(workload, cluster_of(3)));
  const Result<Plan> batch = planner.simulate(small_batch, plan);
  BOOST_REQUIRE(!batch);
  BOOST_TEST(batch.error().message ==
             "plan: found one for batch size 65536, expected the workload's 128");
  BOOST_TEST(!plan.export_as(workload, "stone tablets"));
  std::vector<Shard> shards(plan.shards().size());
  EXPECT_REFUSED(
      neuroshard_plan_get_shards(plan.get(), shards.data(), shards.size() - 1, error.handle),
      "capacity: found 1, expected at least 2");
  EXPECT_REFUSED(neuroshard_plan_get_shards(plan.get(), nullptr, 100, error.handle),
                 "shards: found NULL");
  std::vector<DeviceCost> costs(2);
  EXPECT_REFUSED(neuroshard_plan_get_device_costs(plan.get(), costs.data(), 1, error.handle),
                 "capacity: found 1, expected at least 2");
  EXPECT_REFUSED(neuroshard_plan_get_device_costs(plan.get(), nullptr, 2, error.handle),
                 "costs: found NULL");
  // A table far outside the workload, and every row a plan can name.
  const Shard far{0, INT64_MAX, 0, INT32_MAX, INT32_MAX, 0, 0, 0, 0};
  const Plan strange = must(Plan::create(2, 65536, {&far, 1}));
  BOOST_TEST(!planner.simulate(workload, strange));
  BOOST_TEST(!strange.check(workload, cluster_of(2)));
  BOOST_TEST(!strange.export_as(workload));
}

BOOST_AUTO_TEST_CASE(an_empty_workload_and_no_shards) {
  const Planner planner = make_planner();
  const Workload empty = must(Workload::create());
  const Result<Plan> plan = planner.plan(empty, cluster_of(2));
  BOOST_REQUIRE(!plan);
  BOOST_TEST(plan.error().status == NEUROSHARD_INVALID_INPUT);
  const Plan none = must(Plan::create(2, 65536, {}));
  BOOST_TEST(none.shards().empty());
  BOOST_TEST(!none.check(empty, cluster_of(2)));
  BOOST_TEST(!planner.simulate(make_workload(1), none));
}

BOOST_AUTO_TEST_SUITE_END()
