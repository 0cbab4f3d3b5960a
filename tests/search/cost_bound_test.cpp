// A lower bound is below everything: the optimum of small tasks, and what `refine` finds of large
// ones. And near it, where it can be.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "search/bounds/lower_bound.h"
#include "search/exact.h"
#include "search/problem.h"
#include "search/refine/refine.h"
#include "tests/search/fused_evaluator.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

test::TableEvaluator random_costs(Rng& rng, const Workload& workload, std::int32_t devices,
                                  float per_shard) {
  std::vector<float> costs;
  for (std::size_t k = 0; k < workload.tables.size(); ++k) {
    costs.push_back(static_cast<float>(0.2 + 10 * rng.uniform() * rng.uniform()));
  }
  return {workload, devices, costs, per_shard};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cost_bound)

BOOST_AUTO_TEST_CASE(no_plan_is_below_the_bound) {
  Rng rng(1);
  double gap = 0;
  constexpr int kRounds = test::unless_sanitized(60, 15);
  for (int round = 0; round < kRounds; ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 4));
    Workload workload = test::random_workload(rng, 9);
    if (round % 2 == 0) {
      for (Table& table : workload.tables) table.dim += static_cast<std::int32_t>(rng.below(4));
    }
    const float per_shard = round % 3 == 0 ? 0.0f : static_cast<float>(rng.uniform());
    test::TableEvaluator evaluator = random_costs(rng, workload, devices, per_shard);
    const Cluster cluster = test::make_cluster(devices, kPlenty);
    const auto bound = lower_bound({workload, cluster}, evaluator);
    BOOST_REQUIRE(bound.has_value());
    const auto exact = shard_exact({workload, cluster}, evaluator, {});
    BOOST_REQUIRE(exact.ok());
    BOOST_TEST(*bound <= test::canonical_cost(exact->plan, evaluator));
    SearchOptions options;
    options.evaluations = 20000;
    const auto refined = shard_refine({workload, cluster}, evaluator, options);
    BOOST_REQUIRE(refined.ok());
    BOOST_TEST(*bound > 0);
    BOOST_TEST(*bound <= test::canonical_cost(refined->plan, evaluator));
    gap += test::canonical_cost(refined->plan, evaluator) / *bound - 1;
  }
  BOOST_TEST(gap / kRounds <= 0.1);  // and it says something
}

BOOST_AUTO_TEST_CASE(a_bound_knows_what_cannot_be_divided) {
  Workload workload;
  workload.tables = {test::make_table(10, 4), test::make_table(10, 8)};
  // 10 ms that cannot be split; the other table's 8 can, for 1 ms more.
  test::TableEvaluator evaluator(workload, 4, {9, 6}, 1);
  const Cluster cluster = test::make_cluster(4, kPlenty);
  const auto bound = lower_bound({workload, cluster}, evaluator);
  BOOST_TEST(std::abs(*bound - 10) < 1e-4);
}

BOOST_AUTO_TEST_CASE(a_bound_pays_for_the_splits_that_it_needs) {
  Workload workload;
  workload.tables = {test::make_table(10, 16)};
  // Whole 9, halves 5, quarters 3: on four devices the work is level at 3.
  test::TableEvaluator evaluator(workload, 4, {8}, 1);
  const Cluster cluster = test::make_cluster(4, kPlenty);
  BOOST_TEST(std::abs(*lower_bound({workload, cluster}, evaluator) - 3) < 1e-4);
  test::TableEvaluator two(workload, 2, {8}, 1);
  const Cluster pair = test::make_cluster(2, kPlenty);
  BOOST_TEST(std::abs(*lower_bound({workload, pair}, two) - 5) < 1e-4);
}

BOOST_AUTO_TEST_CASE(a_bound_counts_with_even_blocks_where_rows_may_be_split) {
  Workload workload;
  workload.tables = {test::make_table(10, 4), test::make_table(2, 4)};
  // No columns to split: 9 ms whole, or blocks of 3, 3, 3 and 1 rows. The other has too few rows.
  test::TableEvaluator evaluator(workload, 4, {8, 1}, 1);
  const Cluster cluster = test::make_cluster(4, kPlenty);
  const Problem problem{workload, cluster};
  BOOST_TEST(std::abs(*lower_bound(problem, evaluator) - 9) < 1e-4);
  const auto area = lower_bound(problem, evaluator, {.blocks = 4}, {BoundEffort::kArea});
  BOOST_TEST(std::abs(*area - (4 + 8 + 2) / 4.0) < 1e-4);
  // The other's 2 ms are whole on one device, at best on that with the block of 1 row and 1.8 ms.
  const auto bound = lower_bound(problem, evaluator, {.blocks = 4});
  BOOST_TEST(*bound <= 3.8);
  BOOST_TEST(*bound > 3.79);
  BOOST_TEST(!lower_bound(problem, evaluator, {.blocks = 4, .halves = 2}).has_value());
}

BOOST_AUTO_TEST_CASE(odd_columns_stay_with_one_piece) {
  Workload workload;
  workload.tables = {test::make_table(10, 18)};
  // Half a ms a column and 1 ms a piece: 4 columns are 3 ms four times, 2 are 2 ms.
  test::TableEvaluator evaluator(workload, 4, {9}, 1);
  const Cluster cluster = test::make_cluster(4, kPlenty);
  const auto area = lower_bound({workload, cluster}, evaluator, {}, {BoundEffort::kArea});
  BOOST_TEST(std::abs(*area - 14.0 / 4) < 1e-4);
  // Five pieces are one too many for four devices: one has 6 columns, or two pieces.
  const auto bound = lower_bound({workload, cluster}, evaluator);
  BOOST_TEST(*bound <= 4);
  BOOST_TEST(*bound > 3.99);
}

BOOST_AUTO_TEST_CASE(refine_ends_at_a_plan_that_is_proven) {
  Workload workload;
  for (int k = 0; k < 16; ++k) workload.tables.push_back(test::make_table(10, 16));
  test::TableEvaluator evaluator(workload, 4, std::vector<float>(16, 1.0f));
  const Cluster cluster = test::make_cluster(4, kPlenty);
  SearchOptions options;
  options.time_limit_s = 1e6;
  const auto found = shard_refine({workload, cluster}, evaluator, options);
  BOOST_REQUIRE(found.ok());
  BOOST_TEST(test::canonical_cost(found->plan, evaluator) == 4);
  BOOST_TEST(!found->stopped_early);
  BOOST_TEST((found->lower_bound == lower_bound({workload, cluster}, evaluator)));
}

BOOST_AUTO_TEST_CASE(fused_costs_have_no_bound) {
  Rng rng(2);
  const Workload workload = test::many_tables(rng, 5);
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 2);
  const Cluster cluster = test::make_cluster(2, kPlenty);
  BOOST_TEST(!lower_bound({workload, cluster}, evaluator).has_value());
}

BOOST_AUTO_TEST_CASE(very_wide_tables_have_a_bound_that_takes_little_time) {
  Workload workload;
  workload.tables = {test::make_table(10, 1 << 16)};
  test::TableEvaluator evaluator(workload, 2, {8}, 1);
  const Cluster cluster = test::make_cluster(2, kPlenty);
  // Halves cost 5 ms each; that no piece costs less a column than the largest is sure at once.
  const auto bound = lower_bound({workload, cluster}, evaluator);
  BOOST_TEST(*bound > 4.99);
  BOOST_TEST(*bound <= 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
