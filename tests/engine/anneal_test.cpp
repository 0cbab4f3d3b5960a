// FlexFlow's search over whole layouts: a yardstick that comes near to `refine` where tables are
// few.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/rng.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "tests/engine/generated_tables.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
namespace {

/// By that algorithm, within the memory.
PlanResult planned_by(const std::string& algorithm, const Workload& workload,
                      const Cluster& cluster, const CostModels& models, PlanOptions options) {
  options.algorithm = algorithm;
  options.threads = 1;
  Result<PlanResult> found = make_plan(workload, cluster, models, options);
  BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
  BOOST_TEST(validate(workload, found->plan).ok());
  for (const std::int64_t bytes : device_bytes(workload, found->plan)) {
    BOOST_TEST(bytes <= cluster.memory_bytes);
  }
  return *std::move(found);
}

bool has_row_shards(const Workload& workload, const Plan& plan) {
  return std::any_of(plan.shards.begin(), plan.shards.end(), [&](const Shard& shard) {
    return shard.rows() < workload.tables[static_cast<std::size_t>(shard.table)].rows;
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(anneal)

// Seven of these ten are within 3 %, 1.8 % above in the mean.
BOOST_AUTO_TEST_CASE(plans_of_few_tables_are_nearly_as_cheap_as_those_of_refine) {
  const CostModels models = load_shipped_models("h200_sim").value().models;
  Rng rng(11);
  constexpr int kRounds = test::unless_sanitized(10, 1);
  double sum = 0;
  int near = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Workload workload = test::generated_tables(rng.between(5, 11), rng);
    const auto devices = static_cast<std::int32_t>(rng.between(2, 4));
    const Cluster cluster{.devices = devices,
                          .memory_bytes = workload_bytes(workload) * 3 / 2 / devices + 100'000};
    PlanOptions options;
    options.evaluations = test::unless_sanitized(100'000, 2000);
    const double refined = planned_by("refine", workload, cluster, models, options).cost.cost_ms;
    const double annealed = planned_by("anneal", workload, cluster, models, options).cost.cost_ms;
    BOOST_TEST_MESSAGE("refine " << refined << ", anneal " << annealed / refined);
    sum += annealed / refined - 1;
    near += annealed <= 1.03 * refined ? 1 : 0;
  }
  if (kRounds == 1) return;  // too few steps
  BOOST_TEST(sum <= 0.02 * kRounds);
  BOOST_TEST(near >= kRounds - 3);
}

BOOST_AUTO_TEST_CASE(tables_that_fit_by_their_rows_alone_are_annealed_too) {
  const CostModels models = load_shipped_models("h200_sim").value().models;
  Rng rng(12);
  Workload workload = test::generated_tables(4, rng);
  for (Table& table : workload.tables) table.rows /= 100;
  workload.tables[0].rows = 4'000'000;
  workload.tables[0].dim = 4;
  const Cluster cluster{.devices = 8, .memory_bytes = workload_bytes(workload) / 4};
  PlanOptions options;
  options.evaluations = 2000;
  const Plan plan = planned_by("anneal", workload, cluster, models, options).plan;
  BOOST_TEST(has_row_shards(workload, plan));
  options.row_splits = RowSplits::kOff;
  options.algorithm = "anneal";
  BOOST_TEST(!make_plan(workload, cluster, models, options).ok());
}

// Once its refusal asked itself for advice without end.
BOOST_AUTO_TEST_CASE(what_may_only_be_on_every_device_is_there_or_refused_in_one_line) {
  const CostModels models = load_shipped_models("h200_sim").value().models;
  Rng rng(13);
  Workload workload = test::generated_tables(3, rng);
  workload.tables[1].rows = 1;
  workload.tables[1].sharding = {.whole = false, .columns = false, .rows = true};
  const Cluster cluster{.devices = 4, .memory_bytes = workload_bytes(workload)};
  PlanOptions options;
  options.evaluations = 500;
  options.row_splits = RowSplits::kOff;
  options.data_parallel = true;
  const Plan plan = planned_by("anneal", workload, cluster, models, options).plan;
  BOOST_TEST(std::any_of(plan.shards.begin(), plan.shards.end(), [](const Shard& shard) {
    return shard.table == 1 && shard.device == kEveryDevice;
  }));
  options.data_parallel = false;
  options.algorithm = "anneal";
  const Status refused = make_plan(workload, cluster, models, options).status();
  BOOST_TEST((refused.code() == StatusCode::kInfeasible));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
