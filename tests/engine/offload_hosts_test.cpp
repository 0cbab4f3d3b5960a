// Tables in host memory, on several hosts: no host has more than its memory, neither in the plan
// that is found nor in those that a search shows on its way, and a table that no host holds is over
// all.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_sink.h"
#include "engine/core/shard_bytes.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "tests/support/offload_example.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
namespace {

/// The most that a host has in the plans it is shown.
struct FullestHost final : PlanSink {
  FullestHost(const Workload& workload, std::int32_t devices_per_host)
      : workload_(workload), devices_per_host_(devices_per_host) {}

  void offer(const Plan& plan, double) override {
    const std::vector<std::int64_t> bytes = host_bytes(workload_, plan, devices_per_host_);
    most = std::max(most, *std::max_element(bytes.begin(), bytes.end()));
    ++plans;
  }

  std::int64_t most = 0;
  int plans = 0;

 private:
  const Workload& workload_;
  const std::int32_t devices_per_host_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(offload_hosts)

BOOST_AUTO_TEST_CASE(plans_on_the_way_keep_to_the_memory_of_hosts) {
  const CostModels models = load_shipped_models("torchrec").value().models;
  for (const int seed : {1, 2, 3, 4}) {
    const Workload workload = test::large_tables(20, seed);
    const std::int64_t all = workload_bytes(workload);
    const Cluster cluster{.devices = 8,
                          .memory_bytes = all / 11,
                          .host_memory_bytes = all / 3,
                          .devices_per_host = 4};
    FullestHost fullest(workload, cluster.devices_per_host);
    PlanOptions options;
    options.evaluations = test::unless_sanitized(20'000, 1000);
    options.plans = &fullest;
    BOOST_REQUIRE(make_plan(workload, cluster, models, options).ok());
    BOOST_TEST(fullest.plans > 0, seed);
    BOOST_TEST(fullest.most <= cluster.host_memory_bytes, seed);
  }
}

// Rows in even blocks are the only layout that gives each host its half of the large table.
BOOST_AUTO_TEST_CASE(a_table_that_no_host_holds_is_in_rows_over_all) {
  Workload workload;
  workload.batch_size = 65'536;
  const auto add = [&](std::int64_t rows, std::int32_t dim, double pooling) {
    Table& table = workload.tables.emplace_back();
    table.name = "t" + std::to_string(workload.tables.size());
    table.rows = rows;
    table.dim = dim;
    table.pooling_factor = pooling;
    table.optimizer = Optimizer::kAdagrad;
  };
  add(1'805'778, 128, 0.7);  // 1.72 GiB with its optimizer
  add(738'259, 32, 4);
  add(8253, 128, 48);
  add(36'381, 32, 7.8);
  add(2909, 64, 4.3);
  add(6813, 32, 1.6);
  const CostModels models = load_shipped_models("torchrec").value().models;
  const Cluster cluster{.devices = 4,
                        .memory_bytes = 446'651'919,
                        .host_memory_bytes = 959'300'000,
                        .devices_per_host = 2};
  for (const std::int64_t evaluations :
       {300, test::unless_sanitized(3000, 1000), test::unless_sanitized(30'000, 3000)}) {
    PlanOptions options;
    options.evaluations = evaluations;
    const Result<PlanResult> found = make_plan(workload, cluster, models, options);
    BOOST_REQUIRE_MESSAGE(found.ok(), evaluations << ": " << found.status().message());
    for (const std::int64_t bytes : host_bytes(workload, found->plan, 2)) {
      BOOST_TEST(bytes <= cluster.host_memory_bytes);
    }
  }
  PlanOptions by_time;
  by_time.time_limit_s = 0.2;
  BOOST_TEST(make_plan(workload, cluster, models, by_time).status().message() == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
