// Plans of tables that the devices have no room for, under TorchRec's formula.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/memory_limits.h"
#include "engine/planner/planner.h"
#include "io/plans/plan_tables.h"
#include "io/tables/tables.h"
#include "tests/support/offload_example.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(offload_search)

using test::kGiB;
using test::large_tables;

namespace {

struct Setting {
  std::int32_t devices = 8;
  std::int64_t device_memory = 2 * kGiB;
  std::int64_t host_memory = 4000 * kGiB;
  std::int32_t devices_per_host = 8;
};

Result<PlanResult> plan_in(const Setting& setting, const Workload& workload,
                           std::string_view algorithm = "refine") {
  const CostModels models = load_cost_models("torchrec")->models;
  PlanOptions options;
  options.algorithm = algorithm;
  options.evaluations = test::unless_sanitized(3000, 300);
  const Cluster cluster{.devices = setting.devices,
                        .memory_bytes = setting.device_memory,
                        .host_memory_bytes = setting.host_memory,
                        .devices_per_host = setting.devices_per_host};
  return make_plan(workload, cluster, models, options);
}

/// That all limits are kept, in devices, hosts, tables and what the result says of them.
void check_plan(const Setting& setting, const Workload& workload, const PlanResult& found) {
  BOOST_TEST(validate(workload, found.plan).message() == "");
  BOOST_TEST(io::check_plan_sharding(workload, found.plan).message() == "");
  BOOST_TEST(check_memory(workload, found.plan, setting.device_memory).message() == "");
  for (const std::int64_t bytes : host_bytes(workload, found.plan, setting.devices_per_host)) {
    BOOST_TEST(bytes <= setting.host_memory);
  }
  for (const OffloadedTable& table : offloaded_tables(found.plan)) {
    const AllowedKernels& allowed = workload.tables[static_cast<std::size_t>(table.table)].kernels;
    BOOST_TEST(allowed.allows(table.kernel), table.table << ": " << describe(table.kernel));
  }
  const std::vector<std::int64_t> device = device_bytes(workload, found.plan);
  const std::vector<std::int64_t> host = device_host_bytes(workload, found.plan);
  for (std::size_t d = 0; d < device.size(); ++d) {
    BOOST_TEST(found.cost.per_device[d].memory_bytes == device[d]);
    BOOST_TEST(found.cost.per_device[d].host_bytes == host[d]);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(plans_keep_to_the_memory_of_devices_and_hosts) {
  for (int seed = 1; seed <= test::unless_sanitized(2, 1); ++seed) {
    for (const int tables : {5, 40}) {
      const Workload workload = large_tables(tables, seed);
      for (const Setting& setting :
           {Setting{8, 2 * kGiB}, Setting{1, 8 * kGiB}, Setting{16, kGiB, 400 * kGiB, 4}}) {
        const Result<PlanResult> found = plan_in(setting, workload);
        BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
        check_plan(setting, workload, *found);
        if (found->lower_bound) BOOST_TEST(*found->lower_bound <= found->cost.cost_ms * (1 + 1e-6));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_algorithm_plans_with_kernels_it_knows_nothing_of) {
  const Workload workload = large_tables(7, 4);
  for (const AlgorithmInfo& info : algorithms()) {
    const Setting setting{2, 4 * kGiB};
    const Result<PlanResult> found = plan_in(setting, workload, info.name);
    BOOST_TEST_CONTEXT(info.name) {
      BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
      check_plan(setting, workload, *found);
      BOOST_TEST(has_offloaded(found->plan));
      BOOST_TEST(found->algorithm == info.name);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_fits_on_the_devices_stays_there) {
  const Workload workload = large_tables(12, 5);
  Setting setting{8, 64 * kGiB};
  const PlanResult with = plan_in(setting, workload).value();
  setting.host_memory = 0;
  const PlanResult without = plan_in(setting, workload).value();
  BOOST_TEST(!has_offloaded(with.plan));
  BOOST_TEST((with.plan == without.plan));
  BOOST_TEST(with.cost.cost_ms == without.cost.cost_ms);
}

BOOST_AUTO_TEST_CASE(more_memory_on_the_devices_makes_plans_cheaper) {
  const Workload workload = large_tables(40, 6);
  double before = 1e9;
  for (const std::int64_t memory : {kGiB / 2, kGiB, 2 * kGiB, 4 * kGiB, 16 * kGiB}) {
    const double cost = plan_in({8, memory}, workload)->cost.cost_ms;
    BOOST_TEST(cost < before, memory);
    before = cost;
  }
}

BOOST_AUTO_TEST_CASE(tables_keep_to_the_kernels_and_caches_they_are_told_to_have) {
  Workload workload = large_tables(30, 7);
  for (std::size_t k = 0; k < workload.tables.size(); ++k) {
    AllowedKernels& kernels = workload.tables[k].kernels;
    if (k % 5 == 0) kernels.fused_uvm_caching = false;
    if (k % 5 == 1) kernels.fused_uvm = false;
    if (k % 5 == 2) kernels.load_factor = 0.37;
    if (k % 5 == 3) kernels.fused = false;
  }
  const Setting setting;
  const PlanResult found = plan_in(setting, workload).value();
  check_plan(setting, workload, found);
  std::vector<bool> offloaded(workload.tables.size());
  for (const OffloadedTable& table : offloaded_tables(found.plan)) {
    const auto index = static_cast<std::size_t>(table.table);
    offloaded[index] = true;
    if (index % 5 == 2 && table.kernel.load_factor > 0)
      BOOST_TEST(table.kernel.load_factor == 0.37);
  }
  for (std::size_t k = 3; k < offloaded.size(); k += 5) BOOST_TEST(offloaded[k], k);
}

BOOST_AUTO_TEST_CASE(a_table_of_host_memory_alone_takes_some_even_where_devices_have_room) {
  Workload workload = large_tables(6, 8);
  workload.tables[2].kernels.fused = false;
  const PlanResult found = plan_in({8, 64 * kGiB}, workload).value();
  BOOST_REQUIRE(offloaded_tables(found.plan).size() == 1U);
  BOOST_TEST(offloaded_tables(found.plan)[0].table == 2);
  const Result<PlanResult> refused = plan_in({8, 64 * kGiB, 0}, workload);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(refused.status().message().find("there is no host memory for tables") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(hosts_share_tables_that_none_of_them_holds_alone) {
  const Workload workload = large_tables(test::unless_sanitized(24, 12), 9);
  const std::int64_t all = workload_bytes(workload);
  // On two hosts of four devices with little more than what the tables need, there is no room for
  // an arrangement by costs alone.
  const Setting setting{8, kGiB, all * 55 / 100, 4};
  const PlanResult found = plan_in(setting, workload).value();
  check_plan(setting, workload, found);
  const Result<PlanResult> refused = plan_in({8, kGiB, all / 3, 4}, workload);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST((refused.status().code() == StatusCode::kInfeasible));
  BOOST_TEST(refused.status().message().find(" of memory per host for tables") != std::string::npos,
             refused.status().message());
}

BOOST_AUTO_TEST_CASE(a_time_limit_that_is_too_short_for_anything_leaves_a_plan) {
  const Workload workload = large_tables(60, 13);
  PlanOptions options;
  options.time_limit_s = 1e-6;
  const CostModels models = load_cost_models("torchrec")->models;
  const Result<PlanResult> found = make_plan(workload, {8, 2 * kGiB, 4000 * kGiB}, models, options);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  check_plan({}, workload, *found);
  BOOST_TEST(found->stopped_early);
  BOOST_TEST(found->skipped == "other choices of what the hosts hold");
  options.time_limit_s = 0;
  options.evaluations = 1000;
  BOOST_TEST(make_plan(workload, {8, 2 * kGiB, 4000 * kGiB}, models, options)->skipped == "");
}

// Devices that the first choice fills to the last bytes take what is left in small pieces.
BOOST_AUTO_TEST_CASE(thousands_of_tables_get_more_than_the_first_choice) {
  const Workload workload = large_tables(test::unless_sanitized(1300, 150), 14);
  const Setting setting{16, kGiB};
  const double baseline = plan_in(setting, workload, "neuroshard")->cost.cost_ms;
  BOOST_TEST(plan_in(setting, workload)->cost.cost_ms < baseline);
}

BOOST_AUTO_TEST_CASE(a_larger_budget_tries_more_choices) {
  const std::string file = std::string(NEUROSHARD_SOURCE_DIR) + "/examples/dlrm_dcnv2.json";
  const Workload workload = io::make_workload(io::read_tables(file).value(), file).value();
  const CostModels models = load_cost_models("torchrec")->models;
  PlanOptions options;
  const auto plan = [&](std::int64_t evaluations) {
    options.evaluations = evaluations;
    return make_plan(workload, {8, 8'000'000'000, 1000 * kGiB}, models, options).value();
  };
  const PlanResult usual = plan(test::unless_sanitized(100'000, 1'000));
  const PlanResult larger = plan(test::unless_sanitized(300'000, 3'000));
  BOOST_TEST(larger.evaluations > usual.evaluations);
  BOOST_TEST(larger.cost.cost_ms <= usual.cost.cost_ms);
}

BOOST_AUTO_TEST_CASE(budgets_of_plans_are_kept_whatever_is_asked_for) {
  const std::string file = std::string(NEUROSHARD_SOURCE_DIR) + "/examples/dlrm_dcnv2.json";
  const Workload workload = io::make_workload(io::read_tables(file).value(), file).value();
  const CostModels models = load_cost_models("torchrec")->models;
  for (const std::int64_t host_memory : {std::int64_t{0}, 1000 * kGiB}) {
    for (const bool equal_columns : {false, true}) {
      for (const std::int64_t budget :
           {1, 300, test::unless_sanitized(3000, 1000), test::unless_sanitized(30'000, 3000)}) {
        PlanOptions options;
        options.evaluations = budget;
        options.trainer.equal_columns = equal_columns;
        const Cluster cluster{8, host_memory > 0 ? 8'000'000'000 : 80'000'000'000, host_memory};
        const PlanResult found = make_plan(workload, cluster, models, options).value();
        BOOST_TEST(found.evaluations <= budget + budget / 100 + 100,
                   budget << ", " << host_memory << ", " << equal_columns);
        BOOST_TEST(!found.stopped_early);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(networks_know_nothing_of_host_memory_and_refuse_as_before) {
  const Workload workload = large_tables(10, 11);
  const CostModels models = load_cost_models("h200_sim")->models;
  PlanOptions options;
  const Result<PlanResult> found = make_plan(workload, {8, kGiB / 4, 4000 * kGiB}, models, options);
  BOOST_REQUIRE(!found.ok());
  BOOST_TEST((found.status().code() == StatusCode::kInfeasible));
}

BOOST_AUTO_TEST_CASE(replanning_leaves_tables_in_the_memory_they_are_in) {
  const Workload workload = large_tables(30, 12);
  const CostModels models = load_cost_models("torchrec")->models;
  const Setting setting;
  const Plan now = plan_in(setting, workload, "size-greedy")->plan;
  BOOST_REQUIRE(has_offloaded(now));
  PlanOptions options;
  options.evaluations = 3000;
  const PlanResult next =
      replan(workload, {setting.devices, setting.device_memory}, models, now, {64 * kGiB}, options)
          .value();
  BOOST_TEST((offloaded_tables(next.plan) == offloaded_tables(now)));
  BOOST_TEST(next.cost.cost_ms < simulate(workload, now, models)->cost_ms);
  BOOST_TEST(check_memory(workload, next.plan, setting.device_memory).message() == "");
}

BOOST_AUTO_TEST_CASE(replanning_keeps_to_the_memory_of_hosts_where_it_is_told) {
  int beyond = 0;
  for (std::uint64_t seed = 13; seed < test::unless_sanitized(19U, 15U); ++seed) {
    const Workload workload = large_tables(30, seed);
    const CostModels models = load_cost_models("torchrec")->models;
    Plan now{8, {}};
    for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
      now.shards.push_back(whole_table(workload, table, table % 8, {ComputeKernel::kFusedUvm, 0}));
    }
    const auto fullest = [&](const Plan& plan) {
      const std::vector<std::int64_t> bytes = host_bytes(workload, plan, 2);
      return *std::max_element(bytes.begin(), bytes.end());
    };
    const auto next = [&](std::int64_t host_memory) {
      PlanOptions options;
      options.evaluations = test::unless_sanitized(20'000, 1000);
      const Cluster cluster{.devices = 8,
                            .memory_bytes = 2 * kGiB,
                            .host_memory_bytes = host_memory,
                            .devices_per_host = 2};
      return replan(workload, cluster, models, now, {std::int64_t{1} << 50}, options);
    };
    const std::int64_t memory = fullest(now);
    beyond += fullest(next(0)->plan) > memory ? 1 : 0;
    const Result<PlanResult> kept = next(memory);
    BOOST_REQUIRE_MESSAGE(kept.ok(), kept.status().message());
    BOOST_TEST(fullest(kept->plan) <= memory);
    BOOST_TEST(kept->cost.cost_ms < simulate(workload, now, models)->cost_ms);
    BOOST_TEST(next(memory - 1).status().message().find("hosts have") != std::string::npos);
  }
  BOOST_TEST(beyond > 0);  // nothing was put to the test if plans keep to it unasked
}

BOOST_AUTO_TEST_CASE(host_memory_goes_to_those_that_need_it) {
  // On one device, the third table must be with the host, which has no room for another. That the
  // others cost as little there is no reason to put them there.
  Workload workload;
  workload.batch_size = 4096;
  workload.tables.push_back({.name = "a",
                             .rows = 297,
                             .dim = 64,
                             .optimizer = Optimizer::kPartialRowwiseAdam,
                             .pooled = false});
  workload.tables.push_back({.name = "b", .rows = 919, .dim = 4, .data_type = DataType::kFp16});
  workload.tables.push_back({.name = "c",
                             .rows = 3347,
                             .dim = 8,
                             .pooling_factor = 1,
                             .optimizer = Optimizer::kLarsSgd,
                             .features = 4});
  workload.tables[2].reuse_histogram[0] = 1;
  const auto found = make_plan(workload, {1, 787'949, 214'208, StepBuffers::kTrainBase},
                               load_cost_models("torchrec")->models, {.evaluations = 500});
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(device_bytes(workload, found->plan, StepBuffers::kTrainBase)[0] <= 787'949);
  BOOST_TEST(host_bytes(workload, found->plan, 1)[0] <= 214'208);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
