// Searches that both a time and a number of evaluations end, whichever comes first.
#include <boost/test/unit_test.hpp>
#include <cstdint>

#include "engine/core/rng.h"
#include "engine/core/shard_bytes.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "tests/engine/generated_tables.h"

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(both_limits)

// That there is no time for a budget is found out in the midst of it, and what is left of the time
// passes in walks that look at many more plans a second.
BOOST_AUTO_TEST_CASE(a_budget_is_kept_where_time_is_short_for_it) {
  constexpr std::int64_t kEvaluations = 1'000'000;
  Rng rng(3);
  const Workload workload = test::generated_tables(8, rng);
  const CostModels models = load_shipped_models("torchrec").value().models;
  const Cluster cluster{.devices = 6, .memory_bytes = workload_bytes(workload) / 5};
  PlanOptions options;
  options.evaluations = kEvaluations;
  for (const double time_limit_s : {0.05, 0.1, 0.2, 0.4}) {
    options.time_limit_s = time_limit_s;
    const PlanResult found = make_plan(workload, cluster, models, options).value();
    BOOST_TEST_MESSAGE(time_limit_s << " s: " << found.evaluations << " in " << found.seconds);
    BOOST_TEST(found.evaluations <= kEvaluations + kEvaluations / 100 + 100, time_limit_s);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
