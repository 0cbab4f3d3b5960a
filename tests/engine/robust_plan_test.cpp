// Plans for several cost models at once: against all plans there are, and against those of one
// model.
#include "engine/planner/robust/robust_plan.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <vector>

#include "engine/core/hot_rows.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/rng.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "engine/planner/robust/cost_panel.h"
#include "engine/planner/robust/mixed_plans.h"
#include "tests/engine/generated_tables.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
namespace {

const PlanFile kAnyFile{"json", [](Plan plan) { return plan; },
                        [](const PlanResult&) { return Status(); }};

Workload tables_of(std::size_t count, std::uint64_t seed, bool only_whole) {
  Rng rng(seed);
  Workload workload = test::generated_tables(count, rng);
  for (Table& table : workload.tables) {
    if (!only_whole) continue;
    table.sharding.columns = table.sharding.rows = table.sharding.data_parallel = false;
  }
  return workload;
}

struct TwoModels {
  CostModels networks = load_shipped_models("h200_sim").value().models;
  CostModels formula = load_shipped_models("torchrec").value().models;
  std::vector<const CostModels*> both{&networks, &formula};
};

PlanOptions repeatable() {
  PlanOptions options;
  options.evaluations = test::unless_sanitized(20'000, 1500);
  options.seed = 5;
  options.row_splits = RowSplits::kEven;  // what both models know
  return options;
}

constexpr Cluster kTwo{.devices = 2, .memory_bytes = std::int64_t{1} << 40};

}  // namespace

BOOST_AUTO_TEST_SUITE(robust_plan)

/// Every placement of whole tables on two devices, each by both models. The search weighs exchanges
/// of one model as that of another does, so that it misses the best of some problems: of three
/// here, by 0.01, 0.015 and 0.019.
BOOST_AUTO_TEST_CASE(small_problems_get_the_plan_with_the_smallest_largest_regret) {
  const TwoModels models;
  const std::uint64_t problems = test::unless_sanitized(25, 5);
  std::uint64_t exact = 0;
  for (std::uint64_t seed = 1; seed <= problems; ++seed) {
    const Workload workload = tables_of(7, seed, true);
    CostPanel panel = CostPanel::create(workload, kTwo, models.both).value();
    std::vector<std::vector<PlanCost>> all;
    std::vector<double> best_ms(2, std::numeric_limits<double>::infinity());
    for (unsigned mask = 0; mask < 1U << workload.tables.size(); ++mask) {
      Plan plan{2, {}};
      for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
        plan.shards.push_back(
            whole_table(workload, table, static_cast<std::int32_t>(mask >> table & 1U)));
      }
      all.push_back(panel.costs_of(plan).value());
      for (std::size_t k = 0; k < 2; ++k) best_ms[k] = std::min(best_ms[k], all.back()[k].cost_ms);
    }
    double least = std::numeric_limits<double>::infinity();
    for (const auto& costs : all) least = std::min(least, largest_regret(costs, best_ms));
    const RobustPlan found =
        make_robust_plan(kAnyFile, workload, kTwo, models.both, repeatable()).value();
    exact += found.largest_regret() <= least + 1e-3;
    BOOST_TEST(found.largest_regret() <= least + 2e-2,
               "seed " << seed << ": " << found.largest_regret() << ", least " << least);
    for (std::size_t k = 0; k < 2; ++k) {
      BOOST_TEST(found.costs[k].best_ms == best_ms[k], boost::test_tools::tolerance(1e-6));
    }
  }
  BOOST_TEST(exact + 3 >= problems);
}

BOOST_AUTO_TEST_CASE(no_plan_of_one_model_has_a_smaller_largest_regret) {
  const TwoModels models;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Workload workload = tables_of(30, seed, false);
    const Cluster cluster{.devices = 4, .memory_bytes = std::int64_t{1} << 34};
    const RobustPlan found =
        make_robust_plan(kAnyFile, workload, cluster, models.both, repeatable()).value();
    BOOST_TEST(validate(workload, found.plan.plan).ok());
    const std::vector<std::int64_t> bytes = device_bytes(workload, found.plan.plan);
    BOOST_TEST(*std::max_element(bytes.begin(), bytes.end()) <= cluster.memory_bytes);
    BOOST_TEST(found.plan.cost.cost_ms == found.costs[0].cost.cost_ms);
    const std::vector<double> best_ms{found.costs[0].best_ms, found.costs[1].best_ms};
    for (std::size_t k = 0; k < 2; ++k) {
      const double told = simulate(workload, found.plan.plan, *models.both[k]).value().cost_ms;
      BOOST_TEST(told == found.costs[k].cost.cost_ms, boost::test_tools::tolerance(1e-9));
      const PlanResult alone = make_plan(workload, cluster, *models.both[k], repeatable()).value();
      BOOST_TEST(alone.cost.cost_ms == found.own_ms[k]);
      BOOST_TEST(best_ms[k] <= alone.cost.cost_ms);
      std::vector<PlanCost> costs;
      for (const CostModels* one : models.both) {
        costs.push_back(simulate(workload, alone.plan, *one).value());
      }
      BOOST_TEST(found.largest_regret() <= largest_regret(costs, best_ms) + 1e-9);
    }
  }
}

BOOST_AUTO_TEST_CASE(mixed_plans_have_each_table_as_one_of_the_two_has_it) {
  const TwoModels models;
  const Workload workload = tables_of(40, 3, false);
  const Cluster cluster{.devices = 8, .memory_bytes = std::int64_t{1} << 34};
  CostPanel panel = CostPanel::create(workload, cluster, models.both).value();
  std::vector<Plan> alone;
  std::vector<double> best_ms;
  for (const CostModels* one : models.both) {
    const PlanResult result = make_plan(workload, cluster, *one, repeatable()).value();
    alone.push_back(result.plan);
    best_ms.push_back(result.cost.cost_ms);
  }
  const auto layout_of = [](const Plan& plan, std::int32_t table) {
    std::vector<Shard> shards;
    for (const Shard& shard : plan.shards) {
      if (shard.table == table) shards.push_back(shard);
    }
    return shards;
  };
  const std::vector<Plan> mixed = mixed_plans(panel, 0, alone[0], 1, alone[1], best_ms);
  BOOST_REQUIRE(!mixed.empty());
  for (const Plan& plan : mixed) {
    BOOST_TEST(validate(workload, plan).ok());
    const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
    BOOST_TEST(*std::max_element(bytes.begin(), bytes.end()) <= cluster.memory_bytes);
    std::vector<int> as(2);
    for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
      const std::vector<Shard> own = layout_of(plan, table);
      const bool first = own == layout_of(alone[0], table);
      const bool second = own == layout_of(alone[1], table);
      BOOST_TEST((first || second));
      as[0] += first ? 1 : 0;
      as[1] += second ? 1 : 0;
    }
    BOOST_TEST((as[0] > 0 && as[1] > 0));
  }
  // None that does not fit.
  CostPanel tight =
      CostPanel::create(workload, {.devices = 8, .memory_bytes = 1}, models.both).value();
  BOOST_TEST(mixed_plans(tight, 0, alone[0], 1, alone[1], best_ms).empty());
}

BOOST_AUTO_TEST_CASE(rows_over_a_host_of_the_cluster_have_costs) {
  const TwoModels models;
  Workload workload = tables_of(1, 3, false);
  workload.tables[0].rows = 4000;
  const std::int32_t dim = workload.tables[0].dim;
  Plan plan{8, {}};
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    plan.shards.push_back({0, rank * 1000, (rank + 1) * 1000, 0, dim, 4 + rank});
  }
  for (const std::int32_t each : {4, 8}) {
    const Cluster cluster{
        .devices = 8, .memory_bytes = std::int64_t{1} << 34, .devices_per_host = each};
    CostPanel panel = CostPanel::create(workload, cluster, models.both).value();
    BOOST_TEST(panel.costs_of(plan).ok() == (each == 4));
  }
}

/// One-hot tables with skew, which two networks agree about: each device holds their hot rows.
BOOST_AUTO_TEST_CASE(hot_rows_are_made_where_all_models_know_them) {
  const CostModels other = load_shipped_models("h100_sim").value().models;
  TwoModels models;
  Workload workload = tables_of(12, 7, false);
  for (Table& table : workload.tables) {
    table.pooling_factor = 1;
    const double lookups = static_cast<double>(workload.batch_size);
    table.reuse_histogram = expected_reuse(table.rows, lookups, 1.2).histogram;
  }
  const Cluster cluster{
      .devices = 16, .memory_bytes = std::int64_t{1} << 34, .devices_per_host = 8};
  PlanOptions options = repeatable();
  options.hot_rows = true;
  const std::vector<const CostModels*> networks{&models.networks, &other};
  const RobustPlan found = make_robust_plan(kAnyFile, workload, cluster, networks, options).value();
  BOOST_TEST(!hot_rows(found.plan.plan).empty());
  BOOST_TEST(validate(workload, found.plan.plan).ok());
  for (std::size_t k = 0; k < 2; ++k) {
    const double told = simulate(workload, found.plan.plan, *networks[k], cluster).value().cost_ms;
    BOOST_TEST(told == found.costs[k].cost.cost_ms, boost::test_tools::tolerance(1e-9));
  }
  const RobustPlan cold =
      make_robust_plan(kAnyFile, workload, cluster, models.both, options).value();
  BOOST_TEST(hot_rows(cold.plan.plan).empty());
}

BOOST_AUTO_TEST_CASE(what_one_model_refuses_is_refused) {
  const TwoModels models;
  Workload workload = tables_of(4, 2, false);
  const std::vector<const CostModels*> one{&models.formula};
  BOOST_TEST((make_robust_plan(kAnyFile, workload, kTwo, one, repeatable()).status().code() ==
              StatusCode::kInvalidInput));
  workload.batch_size = 1000;  // less than networks know
  const Status refused =
      make_robust_plan(kAnyFile, workload, kTwo, models.both, repeatable()).status();
  BOOST_TEST((refused.code() == StatusCode::kInvalidInput));
  BOOST_TEST(refused.message().find("1000") != std::string::npos, refused.message());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
