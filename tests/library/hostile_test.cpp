// Whatever is handed to the C interface, the answer is a status and one line of text.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tests/library/support.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

neuroshard_text text(std::string_view view) { return {view.data(), view.size()}; }

struct ErrorHandle {
  neuroshard_error* handle = neuroshard_error_create();
  ErrorHandle() = default;
  ErrorHandle(const ErrorHandle&) = delete;
  ErrorHandle& operator=(const ErrorHandle&) = delete;
  ~ErrorHandle() { neuroshard_error_destroy(handle); }
  [[nodiscard]] std::string message() const {
    const neuroshard_text words = neuroshard_error_message(handle);
    return {words.data, words.size};
  }
};

/// `status` is INVALID_INPUT and the error's line holds `words`.
#define EXPECT_REFUSED(call, words)                                                  \
  do {                                                                               \
    const neuroshard_status status = (call);                                         \
    BOOST_TEST(status == NEUROSHARD_INVALID_INPUT, #call << " gives " << status);    \
    const std::string line = error.message();                                        \
    BOOST_TEST((line.find(words) != std::string::npos), #call << " says: " << line); \
    BOOST_TEST((line.find('\n') == std::string::npos));                              \
  } while (false)

neuroshard_table good_table() {
  neuroshard_table table{};
  table.struct_size = sizeof table;
  table.name = text("t");
  table.rows = 100;
  table.dim = 8;
  table.pooling_factor = 1;
  return table;
}

/// Adds `table` to an empty workload.
neuroshard_status add(const neuroshard_table& table, const ErrorHandle& error) {
  const Workload workload = must(Workload::create());
  return neuroshard_workload_add_table(workload.get(), &table, error.handle);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hostile)

BOOST_AUTO_TEST_CASE(null_for_every_pointer_that_is_required) {
  const ErrorHandle error;
  const Planner planner = make_planner();
  const Workload workload = make_workload(2);
  const neuroshard_cluster cluster = cluster_of(2).c_struct();
  neuroshard_plan* plan = nullptr;
  neuroshard_bytes* bytes = nullptr;
  neuroshard_planner* made = nullptr;
  neuroshard_error* e = error.handle;
  EXPECT_REFUSED(neuroshard_workload_create(1, nullptr, e), "found NULL");
  EXPECT_REFUSED(neuroshard_workload_parse({}, {}, 0, nullptr, e), "found NULL");
  EXPECT_REFUSED(neuroshard_workload_add_table(nullptr, nullptr, e), "workload: found NULL");
  EXPECT_REFUSED(neuroshard_workload_add_table(workload.get(), nullptr, e), "table: found NULL");
  EXPECT_REFUSED(neuroshard_workload_get_table(nullptr, 0, nullptr, e), "workload: found NULL");
  EXPECT_REFUSED(neuroshard_workload_get_table(workload.get(), 0, nullptr, e), "table: found NULL");
  EXPECT_REFUSED(neuroshard_cost_models_shipped({}, nullptr, e), "found NULL");
  EXPECT_REFUSED(neuroshard_cost_models_get_info(nullptr, nullptr, e), "models: found NULL");
  EXPECT_REFUSED(neuroshard_planner_create(nullptr, nullptr, &made, e), "models: found NULL");
  EXPECT_REFUSED(neuroshard_planner_plan(nullptr, workload.get(), &cluster, nullptr, &plan, e),
                 "planner: found NULL");
  EXPECT_REFUSED(neuroshard_planner_plan(planner.get(), nullptr, &cluster, nullptr, &plan, e),
                 "workload: found NULL");
  EXPECT_REFUSED(neuroshard_planner_plan(planner.get(), workload.get(), nullptr, nullptr, &plan, e),
                 "cluster: found NULL");
  EXPECT_REFUSED(
      neuroshard_planner_plan(planner.get(), workload.get(), &cluster, nullptr, nullptr, e),
      "found NULL");
  EXPECT_REFUSED(neuroshard_planner_simulate(planner.get(), workload.get(), nullptr, &plan, e),
                 "plan: found NULL");
  EXPECT_REFUSED(neuroshard_planner_replan(planner.get(), workload.get(), &cluster, nullptr, 1,
                                           nullptr, &plan, e),
                 "now: found NULL");
  EXPECT_REFUSED(neuroshard_plan_moved_bytes(nullptr, nullptr, workload.get(), nullptr, e),
                 "from: found NULL");
  EXPECT_REFUSED(neuroshard_plan_create(2, 1, nullptr, 3, nullptr, 0, &plan, e),
                 "shards: found NULL");
  EXPECT_REFUSED(neuroshard_plan_get_info(nullptr, nullptr, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_get_shards(nullptr, nullptr, 0, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_get_device_costs(nullptr, nullptr, 0, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_get_offloaded(nullptr, nullptr, 0, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_get_host_bytes(nullptr, nullptr, 0, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_check(nullptr, workload.get(), nullptr, e), "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_export(nullptr, workload.get(), {}, nullptr, &bytes, e),
                 "plan: found NULL");
  EXPECT_REFUSED(neuroshard_plan_import({}, {}, nullptr, 0, &plan, e), "workload: found NULL");
  EXPECT_REFUSED(neuroshard_bytes_write_file(nullptr, text("x"), e), "bytes: found NULL");
  EXPECT_REFUSED(neuroshard_cancellation_create(nullptr, e), "found NULL");
}

BOOST_AUTO_TEST_CASE(null_where_it_means_nothing) {
  neuroshard_error_destroy(nullptr);
  neuroshard_bytes_destroy(nullptr);
  neuroshard_workload_destroy(nullptr);
  neuroshard_cost_models_destroy(nullptr);
  neuroshard_planner_destroy(nullptr);
  neuroshard_plan_destroy(nullptr);
  neuroshard_cancellation_destroy(nullptr);
  neuroshard_cancel(nullptr);
  neuroshard_cancellation_reset(nullptr);
  BOOST_TEST(neuroshard_cancelled(nullptr) == 0);
  BOOST_TEST(neuroshard_workload_table_count(nullptr) == 0u);
  BOOST_TEST(neuroshard_bytes_view(nullptr).size == 0u);
  BOOST_TEST(neuroshard_error_status(nullptr) == NEUROSHARD_OK);
  BOOST_TEST(std::strlen(neuroshard_error_message(nullptr).data) == 0u);
  // Without an error handle the status is all there is.
  neuroshard_workload* workload = nullptr;
  BOOST_TEST(neuroshard_workload_create(0, &workload, nullptr) == NEUROSHARD_INVALID_INPUT);
  BOOST_TEST(workload == nullptr);
}

BOOST_AUTO_TEST_CASE(indices_out_of_range) {
  const ErrorHandle error;
  const Workload workload = make_workload(1);
  neuroshard_table table = good_table();
  EXPECT_REFUSED(neuroshard_workload_get_table(workload.get(), 1, &table, error.handle),
                 "index: found 1, expected less than 1");
  for (const std::size_t index : {neuroshard_algorithm_count(), neuroshard_shipped_model_count(),
                                  neuroshard_export_format_count(), SIZE_MAX}) {
    BOOST_TEST(index > 0u);
  }
  BOOST_TEST(neuroshard_algorithm_name(neuroshard_algorithm_count()).size == 0u);
  BOOST_TEST(neuroshard_algorithm_summary(SIZE_MAX).size == 0u);
  BOOST_TEST(neuroshard_shipped_model_name(SIZE_MAX).size == 0u);
  BOOST_TEST(neuroshard_export_format_name(SIZE_MAX).size == 0u);
  BOOST_TEST(neuroshard_export_format_summary(SIZE_MAX).size == 0u);
  BOOST_TEST(std::string(neuroshard_status_name(99)) == "unknown status");
}

BOOST_AUTO_TEST_CASE(texts_that_lie) {
  const ErrorHandle error;
  neuroshard_workload* workload = nullptr;
  neuroshard_cost_models* models = nullptr;
  EXPECT_REFUSED(neuroshard_workload_parse({nullptr, 5}, {}, 0, &workload, error.handle),
                 "bytes: found NULL with size 5");
  EXPECT_REFUSED(neuroshard_workload_parse({"x", SIZE_MAX - 1}, {}, 0, &workload, error.handle),
                 "bytes: found size");
  EXPECT_REFUSED(neuroshard_workload_parse({}, text("nothing"), 0, &workload, error.handle),
                 "nothing:");
  EXPECT_REFUSED(neuroshard_workload_read_file({}, 0, &workload, error.handle), "path: found no");
  EXPECT_REFUSED(
      neuroshard_workload_read_file(text(std::string_view("a\0b", 3)), 0, &workload, error.handle),
      "path: found a 0 byte");
  EXPECT_REFUSED(neuroshard_workload_read_file(text("-"), 0, &workload, error.handle), "./-");
  EXPECT_REFUSED(neuroshard_cost_models_shipped(text("no such"), &models, error.handle),
                 "expected a shipped one");
  EXPECT_REFUSED(neuroshard_cost_models_parse({}, text("empty"), &models, error.handle), "empty");
  BOOST_TEST(workload == nullptr);
  BOOST_TEST(models == nullptr);
}

BOOST_AUTO_TEST_CASE(struct_sizes) {
  const ErrorHandle error;
  neuroshard_table table = good_table();
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{4097}, SIZE_MAX}) {
    table.struct_size = size;
    EXPECT_REFUSED(add(table, error), "table.struct_size: found " + std::to_string(size));
  }
  // A caller with an older header: what it does not have takes its default.
  table.struct_size = offsetof(neuroshard_table, zipf_alpha);
  table.zipf_alpha = kNan;
  BOOST_TEST(add(table, error) == NEUROSHARD_OK);
  neuroshard_planner_options options{};
  options.struct_size = offsetof(neuroshard_planner_options, device_gbps);
  options.inter_host_gbps = kNan;
  neuroshard_planner* planner = nullptr;
  const CostModels models = must(CostModels::shipped());
  BOOST_TEST(neuroshard_planner_create(models.get(), &options, &planner, error.handle) ==
             NEUROSHARD_OK);
  neuroshard_planner_destroy(planner);
  // A caller with a newer header: zeros are defaults, anything else is a wish not understood.
  struct {
    neuroshard_table known;
    char more[24];
  } newer{good_table(), {}};
  newer.known.struct_size = sizeof newer;
  BOOST_TEST(add(newer.known, error) == NEUROSHARD_OK);
  newer.more[23] = 1;
  EXPECT_REFUSED(add(newer.known, error), "does not know");
}

BOOST_AUTO_TEST_CASE(outputs_are_written_as_far_as_the_caller_knows_them) {
  const ErrorHandle error;
  const CostModels models = must(CostModels::shipped());
  struct {
    neuroshard_cost_models_info known;
    char more[8];
    char beyond[8];
  } newer{};
  std::memset(&newer, 0x55, sizeof newer);
  newer.known.struct_size = offsetof(decltype(newer), beyond);
  BOOST_TEST(neuroshard_cost_models_get_info(models.get(), &newer.known, error.handle) == 0);
  BOOST_TEST(newer.known.struct_size == offsetof(decltype(newer), beyond));
  BOOST_TEST(newer.known.simulated == 1);
  for (const char byte : newer.more) BOOST_TEST(byte == 0);
  for (const char byte : newer.beyond) BOOST_TEST(byte == 0x55);
  neuroshard_cost_models_info older{};
  older.struct_size = offsetof(neuroshard_cost_models_info, simulated);
  older.simulated = 77;
  BOOST_TEST(neuroshard_cost_models_get_info(models.get(), &older, error.handle) == 0);
  BOOST_TEST(older.simulated == 77);
  BOOST_TEST(older.name.size == 8u);
}

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
  const CostModels models = must(CostModels::shipped("torchrec"));
  const auto refused = [&](double neuroshard_planner_options::*field, const char* words) {
    for (const double gbps : {kNan, kInfinity, -kInfinity, -1.0, 1e-9, 963146547.0}) {
      neuroshard_planner_options options{};
      options.struct_size = sizeof options;
      options.*field = gbps;
      neuroshard_planner* planner = nullptr;
      EXPECT_REFUSED(neuroshard_planner_create(models.get(), &options, &planner, error.handle),
                     words);
      BOOST_TEST(planner == nullptr);
    }
  };
  refused(&neuroshard_planner_options::device_gbps, "options.device_gbps: found");
  refused(&neuroshard_planner_options::intra_host_gbps, "options.intra_host_gbps: found");
  refused(&neuroshard_planner_options::inter_host_gbps, "options.inter_host_gbps: found");
  refused(&neuroshard_planner_options::host_memory_gbps, "options.host_memory_gbps: found");
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
  refused([](auto& c, auto&) { c.host_memory_bytes = -1; }, "cluster.host_memory_bytes: found -1");
}

BOOST_AUTO_TEST_CASE(plans_out_of_range) {
  const ErrorHandle error;
  neuroshard_plan* plan = nullptr;
  const neuroshard_shard good{0, 10, 0, 4, 0, 0};
  EXPECT_REFUSED(neuroshard_plan_create(0, 1, &good, 1, nullptr, 0, &plan, error.handle),
                 "devices");
  EXPECT_REFUSED(neuroshard_plan_create(1, 0, &good, 1, nullptr, 0, &plan, error.handle),
                 "batch_size");
  for (const std::size_t count : {(std::size_t{1} << 24) + 1, SIZE_MAX}) {
    EXPECT_REFUSED(neuroshard_plan_create(1, 1, &good, count, nullptr, 0, &plan, error.handle),
                   "count: found");
  }
  const auto refused = [&](neuroshard_shard shard, const char* words) {
    EXPECT_REFUSED(neuroshard_plan_create(2, 1, &shard, 1, nullptr, 0, &plan, error.handle), words);
  };
  refused({-1, 10, 0, 4, 0, 0}, "shards[0].row_begin");
  refused({5, 5, 0, 4, 0, 0}, "shards[0].row_end");
  refused({0, INT64_MIN, 0, 4, 0, 0}, "shards[0].row_end");
  refused({0, 10, -4, 4, 0, 0}, "shards[0].column_begin");
  refused({0, 10, 4, 4, 0, 0}, "shards[0].column_end");
  refused({0, 10, 0, 4, -1, 0}, "shards[0].table");
  refused({0, 10, 0, 4, 0, 2}, "shards[0].device: found 2, expected 0 to 1");
  refused({0, 10, 0, 4, 0, -2}, "shards[0].device");
  const auto offloaded = [&](std::vector<neuroshard_offloaded_table> tables, const char* words) {
    EXPECT_REFUSED(
        neuroshard_plan_create(2, 1, &good, 1, tables.data(), tables.size(), &plan, error.handle),
        words);
  };
  EXPECT_REFUSED(neuroshard_plan_create(2, 1, &good, 1, nullptr, 1, &plan, error.handle),
                 "offloaded: found NULL");
  EXPECT_REFUSED(neuroshard_plan_create(2, 1, &good, 1, nullptr, SIZE_MAX, &plan, error.handle),
                 "offloaded_count: found");
  constexpr std::int32_t kUvm = NEUROSHARD_KERNEL_FUSED_UVM;
  constexpr std::int32_t kCached = NEUROSHARD_KERNEL_FUSED_UVM_CACHING;
  offloaded({{-1, kUvm, 0}}, "offloaded[0].table: found -1, expected 0 or more");
  offloaded({{3, kUvm, 0}, {3, kUvm, 0}}, "offloaded[1].table: found 3, expected 4 or more");
  offloaded({{INT32_MAX, kUvm, 0}, {0, kUvm, 0}}, "offloaded[1].table: found 0");
  offloaded({{0, NEUROSHARD_KERNEL_FUSED, 0}}, "offloaded[0].kernel: found 1");
  offloaded({{0, kUvm | kCached, 0}}, "offloaded[0].kernel: found 6");
  offloaded({{0, kUvm, 0.5}}, "offloaded[0]");
  offloaded({{0, kCached, 0}}, "offloaded[0]");
  offloaded({{0, kCached, kNan}}, "offloaded[0]");
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
  std::int64_t bytes = 0;
  EXPECT_REFUSED(neuroshard_plan_get_host_bytes(plan.get(), &bytes, 1, error.handle),
                 "capacity: found 1, expected at least 2");
  EXPECT_REFUSED(neuroshard_plan_get_host_bytes(plan.get(), nullptr, 2, error.handle),
                 "bytes: found NULL");
  BOOST_TEST(neuroshard_plan_get_offloaded(plan.get(), nullptr, 0, error.handle) == NEUROSHARD_OK);
  // A table far outside the workload, and every row a plan can name.
  const Shard far{0, INT64_MAX, 0, INT32_MAX, INT32_MAX, 0};
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

BOOST_AUTO_TEST_CASE(a_success_clears_the_error) {
  const ErrorHandle error;
  neuroshard_workload* workload = nullptr;
  EXPECT_REFUSED(neuroshard_workload_create(-1, &workload, error.handle), "batch_size: found -1");
  BOOST_TEST(neuroshard_error_status(error.handle) == NEUROSHARD_INVALID_INPUT);
  BOOST_TEST(neuroshard_workload_create(1, &workload, error.handle) == NEUROSHARD_OK);
  BOOST_TEST(neuroshard_error_status(error.handle) == NEUROSHARD_OK);
  BOOST_TEST(error.message().empty());
  neuroshard_workload_destroy(workload);
}

BOOST_AUTO_TEST_SUITE_END()
