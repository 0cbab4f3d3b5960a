// The same plan on any number of threads, of searches that have more than one thing to search for:
// what hosts hold, hot rows, several cost models. The thread sanitizer runs this file, too.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/core/hot_rows.h"
#include "engine/core/reuse_histogram.h"
#include "engine/core/rng.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "engine/planner/robust/robust_plan.h"
#include "tests/engine/generated_tables.h"
#include "tests/support/offload_example.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(plan_threads)

using test::kGiB;
using test::large_tables;

BOOST_AUTO_TEST_CASE(plans_do_not_depend_on_threads_and_come_again) {
  const Workload workload = large_tables(40, 10);
  CostModels models = load_cost_models("torchrec")->models;
  PlanOptions options;
  options.evaluations = test::unless_sanitized(5000, 1000);
  options.threads = 1;
  const Plan one = make_plan(workload, {8, kGiB, 4000 * kGiB}, models, options)->plan;
  options.threads = 4;
  BOOST_TEST((make_plan(workload, {8, kGiB, 4000 * kGiB}, models, options)->plan == one));
}

BOOST_AUTO_TEST_CASE(hot_rows_do_not_depend_on_threads) {
  Rng rng(7);
  Workload workload = test::generated_tables(60, rng);
  for (Table& table : workload.tables) {
    table.pooling_factor = 1;
    const auto lookups = static_cast<double>(workload.batch_size);
    table.reuse_histogram = expected_reuse(table.rows, lookups, 1.05).histogram;
  }
  const Cluster cluster{.devices = 32, .memory_bytes = 16 * kGiB};
  const CostModels models = load_shipped_models("h100_sim").value().models;
  PlanOptions options;
  options.evaluations = test::unless_sanitized(10'000, 1000);
  options.hot_rows = true;
  options.threads = 1;
  const Plan one = make_plan(workload, cluster, models, options)->plan;
  BOOST_TEST(!hot_rows(one).empty());
  options.threads = 2;
  BOOST_TEST((make_plan(workload, cluster, models, options)->plan == one));
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_plan_on_any_number_of_threads) {
  const CostModels networks = load_shipped_models("h200_sim").value().models;
  const CostModels formula = load_shipped_models("torchrec").value().models;
  const std::vector<const CostModels*> both{&networks, &formula};
  const PlanFile any_file{"json", [](Plan plan) { return plan; },
                          [](const PlanResult&) { return Status(); }};
  Rng rng(9);
  const Workload workload = test::generated_tables(20, rng);
  const Cluster cluster{.devices = 4, .memory_bytes = 16 * kGiB};
  PlanOptions options;
  options.evaluations = test::unless_sanitized(20'000, 1500);
  options.seed = 5;
  options.row_splits = RowSplits::kEven;  // what both models know
  const RobustPlan one = make_robust_plan(any_file, workload, cluster, both, options).value();
  options.threads = 3;
  const RobustPlan three = make_robust_plan(any_file, workload, cluster, both, options).value();
  BOOST_TEST((one.plan.plan == three.plan.plan));
  BOOST_TEST(one.plan.evaluations == three.plan.evaluations);
  BOOST_TEST(!one.plan.stopped_early);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
