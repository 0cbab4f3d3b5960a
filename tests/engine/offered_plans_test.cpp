// Plans that a search shows while it goes on: what they cost, and what becomes of them in a trainer
// that takes the pieces of a table on one device for equally wide.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/plan_check.h"
#include "engine/core/plan_sink.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/plan_for_file.h"
#include "io/trainers/torchrec_columns.h"
#include "io/trainers/torchrec_plan.h"
#include "tests/engine/generated_tables.h"
#include "tests/support/sanitized.h"

namespace {

using namespace neuroshard;

struct Offer {
  Plan plan;
  double cost_ms = 0;
};

class Offers final : public PlanSink {
 public:
  void offer(const Plan& plan, double cost_ms) override { all.push_back({plan, cost_ms}); }
  std::vector<Offer> all;
};

PlanFile torchrec_file() {
  return {"torchrec", io::torchrec_plan, [](const PlanResult&) { return Status(); }};
}

/// Whether columns of a table on one device are in pieces of different widths.
bool widths_meet(const Plan& plan) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> widths;
  return std::any_of(plan.shards.begin(), plan.shards.end(), [&](const Shard& shard) {
    const auto first = widths.try_emplace({shard.table, shard.device}, shard.dim()).first;
    return first->second != shard.dim();
  });
}

/// Wide tables that few lookups go to, which widths of all kinds suit, among narrow ones of many.
Workload wide_tables() {
  Rng rng(3);
  Workload workload = test::generated_tables(14, rng);
  for (std::size_t k = 0; k < workload.tables.size(); ++k) {
    Table& table = workload.tables[k];
    table.pooling_factor = k < 4 ? 2 : 40;
    table.dim = k < 4 ? static_cast<std::int32_t>(200 + 36 * k) : 20;
  }
  return workload;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(offered_plans)

BOOST_AUTO_TEST_CASE(cost_what_the_search_says_with_halves_of_rows_on_two_devices_too) {
  // In order of the devices, halves of rows would be even blocks, which other exchanges go with.
  Workload workload;
  workload.batch_size = 65'536;
  const auto add = [&](std::int64_t rows, std::int32_t dim, double pooling_factor) {
    Table table;
    table.name = std::to_string(rows);
    table.rows = rows;
    table.dim = dim;
    table.pooling_factor = pooling_factor;
    workload.tables.push_back(table);
  };
  add(202'167, 32, 20);
  add(8'072, 1000, 1);
  add(44'176, 64, 100);
  const CostModels models = load_cost_models("h200_sim")->models;
  const Cluster cluster{.devices = 2, .memory_bytes = 1'000'000'000};
  Offers offers;
  PlanOptions options;
  options.evaluations = 2'000;
  options.row_splits = RowSplits::kAny;
  options.plans = &offers;
  BOOST_TEST_REQUIRE(make_plan(workload, cluster, models, options).ok());
  std::size_t by_rows = 0;
  for (const Offer& offer : offers.all) {
    const Result<PlanCost> cost = simulate(workload, offer.plan, models, cluster);
    BOOST_TEST_REQUIRE(cost.ok());
    BOOST_TEST(cost->cost_ms == offer.cost_ms, boost::test_tools::tolerance(1e-5));
    by_rows += std::any_of(offer.plan.shards.begin(), offer.plan.shards.end(),
                           [](const Shard& shard) { return shard.row_begin > 0; });
  }
  BOOST_TEST(by_rows > 0);
}

BOOST_AUTO_TEST_CASE(none_is_cheaper_as_the_file_holds_it_than_the_one_that_is_made) {
  const Workload workload = wide_tables();
  const CostModels models = load_cost_models("h200_sim")->models;
  const Cluster cluster{.devices = 3, .memory_bytes = std::int64_t{1} << 40};
  const PlanFile file = torchrec_file();
  Offers offers;
  PlanOptions options;
  options.evaluations = test::unless_sanitized(3'000, 1'000);
  options.trainer = io::kTorchRecRules;
  options.plans = &offers;
  const Result<PlanResult> made = make_plan_for(file, workload, cluster, models, options);
  BOOST_TEST_REQUIRE(made.ok());
  BOOST_TEST(!widths_meet(made->plan));
  BOOST_TEST(made->cost.cost_ms == simulate(workload, made->plan, models, cluster)->cost_ms);
  std::size_t unequal = 0;  // starts may be, moves alone keep to the rule
  for (const Offer& offer : offers.all) {
    unequal += widths_meet(offer.plan);
    const Plan written = io::torchrec_plan(offer.plan);
    const double cost_ms = simulate(workload, written, models, cluster)->cost_ms;
    BOOST_TEST(made->cost.cost_ms <= cost_ms * (1 + 1e-6));
  }
  BOOST_TEST(unequal > 0U);
}

BOOST_AUTO_TEST_SUITE_END()
