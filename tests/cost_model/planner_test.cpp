// The facade: what it refuses, what it promises about plans, and comparisons.
#include "engine/planner/planner.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "engine/core/plan_check.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/memory_limits.h"
#include "tests/cost_model/random_models.h"

namespace neuroshard {
namespace {

struct Setup {
  Rng rng{42};
  CostModels models = test::random_models(4, rng);
  Workload workload = test::random_workload(16, rng);
  Cluster cluster;

  Setup() {
    cluster.devices = 4;
    cluster.memory_bytes = std::int64_t{8} << 30;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(planner)

BOOST_AUTO_TEST_CASE(plans_are_canonical_feasible_and_cost_what_simulate_says) {
  Setup setup;
  const std::vector<std::string> baselines = baseline_names();
  for (const std::string& algorithm : algorithm_names()) {
    PlanOptions options;
    options.algorithm = algorithm;
    options.evaluations = 3000;
    if (algorithm == "exact") setup.workload.tables.resize(5);
    const auto result = make_plan(setup.workload, setup.cluster, setup.models, options);
    BOOST_REQUIRE_MESSAGE(result.ok(), result.status().message());
    Plan canonical = result->plan;
    canonicalize(canonical);
    BOOST_TEST((canonical == result->plan));
    BOOST_TEST(validate(setup.workload, result->plan).ok());
    BOOST_TEST(check_memory(setup.workload, result->plan, setup.cluster.memory_bytes).ok());
    BOOST_TEST(result->algorithm == algorithm);
    BOOST_TEST(result->seconds >= 0);
    BOOST_TEST(!result->stopped_early);
    const bool baseline =
        std::find(baselines.begin(), baselines.end(), algorithm) != baselines.end();
    BOOST_TEST((result->evaluations > 0) ==
               ((!baseline && algorithm != "hugectr") || algorithm == "neuroshard"));
    std::reverse(canonical.shards.begin(), canonical.shards.end());
    const auto cost = simulate(setup.workload, canonical, setup.models);
    BOOST_TEST(cost->cost_ms == result->cost.cost_ms);  // to the bit, whatever the order
    double highest = -1e300;
    for (const DeviceCost& device : cost->per_device) {
      highest = std::max(highest, device.total_ms());
    }
    BOOST_TEST(cost->cost_ms == highest);
  }
}

BOOST_AUTO_TEST_CASE(rows_are_split_only_under_models_that_know_row_shards) {
  Setup setup;
  Table& large = setup.workload.tables[3];
  large.dim = 4;  // no columns to split
  large.rows = setup.cluster.memory_bytes / 16 * 2;
  PlanOptions options;
  options.evaluations = 3000;
  const auto plan = [&](std::int32_t row_parts, RowSplits row_splits) {
    setup.models.compute->row_parts = row_parts;
    options.row_splits = row_splits;
    return make_plan(setup.workload, setup.cluster, setup.models, options);
  };
  for (const auto& refused :
       {plan(1, RowSplits::kAny), plan(3, RowSplits::kEven), plan(128, RowSplits::kOff)}) {
    BOOST_TEST((refused.status().code() == StatusCode::kInfeasible));
    BOOST_TEST(refused.status().message().find("table 3") != std::string::npos);
  }
  for (const auto& found :
       {plan(4, RowSplits::kEven), plan(4, RowSplits::kAny), plan(3, RowSplits::kAny)}) {
    BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
    BOOST_TEST(validate(setup.workload, found->plan).ok());
    BOOST_TEST(check_memory(setup.workload, found->plan, setup.cluster.memory_bytes).ok());
    const auto cost = simulate(setup.workload, found->plan, setup.models);
    BOOST_TEST(cost->cost_ms == found->cost.cost_ms);
    std::int64_t dims = 0;  // a row shard's columns count in full on every device that has one
    for (const DeviceCost& device : cost->per_device) dims += device.dim_sum;
    std::int64_t expected = 0;
    for (const Shard& shard : found->plan.shards) expected += shard.dim();
    BOOST_TEST(dims == expected);
  }
}

BOOST_AUTO_TEST_CASE(a_dear_table_is_spread_where_columns_fill_the_memory) {
  // Sizes of four of the DLRM tables. The third costs most and has few columns; cut in columns, the
  // others leave no device the memory for a block of it.
  Workload workload;
  for (const auto& [rows, dim, pooling_factor] : {std::tuple(5999600, 64, 3.4),
                                                  {5999396, 128, 1.16},
                                                  {5999994, 32, 110.33},
                                                  {5966699, 4, 0.39}}) {
    Table& table = workload.tables.emplace_back();
    table.name = "table" + std::to_string(workload.tables.size());
    table.rows = rows;
    table.dim = dim;
    table.pooling_factor = pooling_factor;
    const double lookups = pooling_factor * static_cast<double>(workload.batch_size);
    table.reuse_histogram = expected_reuse(rows, lookups, 0).histogram;
  }
  Cluster cluster;
  cluster.devices = 4;
  cluster.memory_bytes = std::int64_t{1400} << 20;
  PlanOptions options;
  options.evaluations = 2000;
  const CostModels models = load_shipped_models("h200_sim").value().models;
  const auto cost = [&](RowSplits row_splits) {
    options.row_splits = row_splits;
    const auto result = make_plan(workload, cluster, models, options);
    BOOST_REQUIRE_MESSAGE(result.ok(), result.status().message());
    return result->cost.cost_ms;
  };
  BOOST_TEST(cost(RowSplits::kEven) < 0.5 * cost(RowSplits::kOff));
}

BOOST_AUTO_TEST_CASE(threads_do_not_change_plans) {
  const Setup setup;
  PlanOptions options;
  options.evaluations = 5000;
  const auto one = make_plan(setup.workload, setup.cluster, setup.models, options);
  for (const int threads : {0, 2, 5}) {
    options.threads = threads;
    const auto many = make_plan(setup.workload, setup.cluster, setup.models, options);
    BOOST_TEST((many->plan == one->plan));
    BOOST_TEST(many->evaluations == one->evaluations);
  }
}

BOOST_AUTO_TEST_CASE(bad_options_are_refused_with_what_is_expected) {
  const Setup setup;
  const auto message = [&](const PlanOptions& options, Cluster cluster) {
    const auto result = make_plan(setup.workload, cluster, setup.models, options);
    BOOST_TEST((result.status().code() == StatusCode::kInvalidInput));
    return result.status().message();
  };
  PlanOptions options;
  options.algorithm = "magic";
  BOOST_TEST(
      message(options, setup.cluster) ==
      "algorithm: found 'magic', expected one of random, size-greedy, dim-greedy, "
      "lookup-greedy, size-lookup-greedy, neuroshard, refine, anneal, exact, surco, hugectr");
  options = {};
  options.threads = -1;
  BOOST_TEST(message(options, setup.cluster) == "threads: found -1, expected 0 (all) to 4096");
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    options = {};
    options.time_limit_s = bad;
    BOOST_TEST(message(options, setup.cluster).starts_with("time limit: found "));
  }
  options = {};
  options.evaluations = -1;
  BOOST_TEST(message(options, setup.cluster) ==
             "evaluations: found -1, expected 0 (no limit) or more");
  Cluster none = setup.cluster;
  none.devices = 0;
  BOOST_TEST(message({}, none).starts_with("devices is 0"));
  none = setup.cluster;
  none.memory_bytes = 0;
  BOOST_TEST(message({}, none).starts_with("device memory is 0"));
}

BOOST_AUTO_TEST_CASE(simulate_refuses_plans_that_are_not_of_the_workload) {
  Setup setup;
  const auto message = [&](const Plan& plan) {
    const auto result = simulate(setup.workload, plan, setup.models);
    BOOST_TEST((result.status().code() == StatusCode::kInvalidInput));
    return result.status().message();
  };
  Plan plan = test::random_plan(setup.workload, 4, setup.rng);
  BOOST_TEST(simulate(setup.workload, plan, setup.models).ok());
  Plan other = plan;
  other.devices = 0;
  BOOST_TEST(message(other) == "devices: found 0, expected 1 to 65536");
  other = plan;
  other.devices = 8;
  BOOST_TEST(message(other) ==
             "the cost models are for 4 devices only (fixed-devices-mlp), found 8");
  other = plan;
  other.shards.pop_back();
  BOOST_TEST(message(other).find("expected every cell in exactly one shard") != std::string::npos);
  other = Plan{4, {}};
  for (std::int32_t table = 0; table < 16; ++table) {
    other.shards.push_back(whole_table(setup.workload, table, 0));
  }
  other.shards[5].device = kEveryDevice;
  BOOST_TEST(message(other) ==
             "shards[5]: table 5 is on every device: networks have a cost of data-parallel tables "
             "where their features change with the batch size and their exchanges are those of a "
             "built-in hardware profile");
}

BOOST_AUTO_TEST_CASE(the_fullest_device_is_named) {
  Workload workload;
  Table table;
  table.rows = 1000;
  table.dim = 16;
  workload.tables = {table, table, table};  // 64,000 bytes each
  const Plan plan{
      2, {whole_table(workload, 0, 0), whole_table(workload, 1, 1), whole_table(workload, 2, 1)}};
  BOOST_TEST(check_memory(workload, plan, 128000).ok());
  const Status status = check_memory(workload, plan, 127999);
  BOOST_TEST((status.code() == StatusCode::kInfeasible));
  BOOST_TEST(status.message() ==
             "device 1 holds 128000 B, devices have 127999 B: this plan needs at least 125KiB of "
             "memory per device");
}

BOOST_AUTO_TEST_CASE(a_comparison_keeps_what_is_infeasible_as_an_outcome) {
  Setup setup;
  // One table larger than a device: only an algorithm that splits has a plan.
  setup.workload.tables[0].rows = 10'000'000;
  setup.workload.tables[0].dim = 128;
  setup.cluster.memory_bytes = std::int64_t{4} << 30;
  const std::vector<std::string> names = algorithm_names();
  PlanOptions options;
  options.evaluations = 2000;
  const auto compared = compare_plans(setup.workload, setup.cluster, setup.models, names, options);
  BOOST_REQUIRE(compared.ok());
  BOOST_REQUIRE(compared->size() == names.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    const ComparedPlan& entry = (*compared)[k];
    BOOST_TEST(entry.algorithm == names[k]);
    // "anneal" starts from the paper's search when no greedy plan fits.
    const bool splits = names[k] == "neuroshard" || names[k] == "refine" || names[k] == "anneal" ||
                        names[k] == "surco";
    BOOST_TEST(entry.result.ok() == splits);
    if (!entry.result.ok()) {
      // Too many plans for "exact", which the others do not go through.
      const bool refused = names[k] == "exact";
      BOOST_TEST((entry.result.status().code() ==
                  (refused ? StatusCode::kInvalidInput : StatusCode::kInfeasible)));
    }
  }
  const std::vector<std::string> exact{"exact"};
  const auto refused = compare_plans(setup.workload, setup.cluster, setup.models, exact, {});
  BOOST_TEST((refused.status().code() == StatusCode::kInvalidInput));
  const std::vector<std::string> unknown{"size-greedy", "magic"};
  BOOST_TEST(!compare_plans(setup.workload, setup.cluster, setup.models, unknown, {}).ok());
}

BOOST_AUTO_TEST_CASE(models_that_give_no_finite_cost_are_refused) {
  Setup setup;
  for (float& weight : setup.models.compute->head.parameters()) weight = 3e38f;
  PlanOptions options;
  options.evaluations = 2000;
  const auto result = make_plan(setup.workload, setup.cluster, setup.models, options);
  BOOST_REQUIRE(!result.ok());
  BOOST_TEST((result.status().code() == StatusCode::kInvalidInput));
}

BOOST_AUTO_TEST_CASE(algorithms_are_described) {
  BOOST_TEST(algorithms().size() == algorithm_names().size());
  for (const AlgorithmInfo& info : algorithms()) BOOST_TEST(!info.summary.empty());
  const std::vector<std::string> baselines = baseline_names();
  BOOST_TEST(baselines.front() == "random");
  BOOST_TEST(baselines.back() == "neuroshard");
  BOOST_TEST(default_algorithm() == "refine");
}

BOOST_AUTO_TEST_CASE(algorithms_go_by_what_they_are_said_to_go_by) {
  const CostModels models = load_cost_models("h200_sim").value().models;
  const ReuseHistogram once{1};
  Workload workload{{{"large", 10'000'000, 4, 100, DataType::kFp32, Optimizer::kSgd, once}}, 8192};
  workload.tables.resize(5, {"small", 1000, 4, 1, DataType::kFp32, Optimizer::kSgd, once});
  const Cluster cluster{.devices = 4, .memory_bytes = std::int64_t{8} << 30};
  for (const AlgorithmInfo& info : algorithms()) {
    PlanOptions options{.algorithm = std::string(info.name), .evaluations = 1000};
    const auto many = make_plan(workload, cluster, models, options);
    BOOST_REQUIRE_MESSAGE(many.ok(), many.status().message());
    const auto of_all_rows = [&](const Shard& shard) {
      return shard.rows() == workload.tables[static_cast<std::size_t>(shard.table)].rows;
    };
    const bool row_shards = !std::ranges::all_of(many->plan.shards, of_all_rows);
    BOOST_TEST(row_shards == info.makes_row_shards, info.name);
    options.evaluations = 10;
    const auto few = make_plan(workload, cluster, models, options);
    const bool same = few.ok() && few->evaluations == many->evaluations;
    BOOST_TEST(same == !info.heeds_evaluations, info.name);
  }
}

BOOST_AUTO_TEST_CASE(models_that_overflow_are_told_whatever_the_number_of_devices) {
  CostModels models = load_cost_models("h200_sim").value().models;
  models.comm->forward.target = models.comm->backward.target = CostTarget::kLogMilliseconds;
  Workload workload;
  workload.tables.resize(5);
  for (Table& table : workload.tables) {
    table.rows = 1000;
    table.dim = 1 << 20;
    table.pooling_factor = 2;
  }
  for (const std::int32_t devices : {2, 3, 5}) {
    Cluster cluster;
    cluster.devices = devices;
    cluster.memory_bytes = std::int64_t{1} << 50;
    PlanOptions options;
    options.evaluations = 3000;
    const auto result = make_plan(workload, cluster, models, options);
    BOOST_TEST(result.status().message() ==
               "the cost models give this workload's plans no finite cost");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
