// More evaluations of the same search: never a costlier plan.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "search/refine/refine.h"
#include "tests/search/fused_evaluator.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(larger_budgets)

BOOST_AUTO_TEST_CASE(a_larger_budget_never_makes_a_plan_costlier) {
  Rng rng(12);
  for (int round = 0; round < test::unless_sanitized(6, 1); ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 8));
    const Workload workload = test::many_tables(rng, 24);
    const Cluster cluster = test::cluster_with_room(workload, devices, 1.3);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, devices);
    // Ends of stages, and what is beyond them; then what is within a stage.
    const std::vector<std::vector<std::int64_t>> ladders{
        {1'000, 3'000, 10'000, 30'000, 31'000, 60'000, 90'001, 110'000},
        {1'000, 1'001, 1'300, 2'000, 2'999},
        {10'000, 10'001, 12'345, 20'000}};
    for (const std::vector<std::int64_t>& ladder : ladders) {
      double before = std::numeric_limits<double>::infinity();
      for (const std::int64_t evaluations : ladder) {
        SearchOptions options;
        options.evaluations = evaluations;
        options.seed = static_cast<std::uint64_t>(round);
        const auto found = shard_refine({workload, cluster}, evaluator, options);
        BOOST_REQUIRE_MESSAGE(found.ok(), found.status().message());
        BOOST_TEST(found->evaluations <= evaluations + 100 + evaluations / 100);
        const double cost = test::canonical_cost(found->plan, evaluator);
        BOOST_TEST(cost <= before * (1 + 1e-6), evaluations);
        before = cost;
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
