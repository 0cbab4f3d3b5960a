// Pieces of a table that are on one device for nothing.
#include "search/local/join.h"

#include <boost/test/unit_test.hpp>

#include "engine/core/plan_check.h"
#include "search/local/local_walk.h"
#include "search/local/plan_pieces.h"
#include "search/plan_cost.h"
#include "search/refine/joined_columns.h"
#include "search/refine/refine.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/table_evaluator.h"
#include "tests/search/width_evaluator.h"

namespace neuroshard::search {

BOOST_AUTO_TEST_SUITE(join)

BOOST_AUTO_TEST_CASE(pieces_on_one_device_are_joined_where_it_costs_nothing) {
  Workload workload;
  workload.tables = {test::make_table(10, 32), test::make_table(10, 32)};
  // Two halves cost 0.1 less than the whole: it matters on the slowest device alone.
  test::TableEvaluator evaluator(workload, 2, {4, 2}, -0.1f);
  const Cluster cluster = test::make_cluster(2, 1 << 20);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  LocalWalk walk({workload, cluster}, evaluator, catalog);
  const EntryId halves[] = {catalog.find(0, 10, 16), catalog.find(1, 10, 16)};
  const EntryId quarter = catalog.find(1, 10, 8);
  const Assignment pieces{
      {halves[0], 0}, {halves[0], 0}, {halves[1], 1}, {quarter, 1}, {quarter, 1}};
  const Assignment joined =
      join_pieces(pieces, {workload, cluster}, evaluator, catalog, [] { return false; });
  BOOST_TEST((joined[0] == pieces[0]));
  BOOST_TEST((joined[1] == pieces[1]));
  const Plan plan = plan_of(joined, workload, catalog, 2);
  BOOST_TEST(plan.shards.size() == 3u);
  BOOST_TEST(validate(workload, plan).ok());
  BOOST_TEST(walk.cost(joined) == walk.cost(pieces));
  const Assignment stopped =
      join_pieces(pieces, {workload, cluster}, evaluator, catalog, [] { return true; });
  BOOST_TEST((stopped == pieces));
}

BOOST_AUTO_TEST_CASE(pieces_that_are_alike_are_tried_once) {
  struct Counting : test::TableEvaluator {
    using TableEvaluator::TableEvaluator;
    void plan_details(const PlanBatch& batch, const PlanDetails& details,
                      Scratch& scratch) const override {
      ++plans;
      TableEvaluator::plan_details(batch, details, scratch);
    }
    mutable int plans = 0;
  };
  Workload workload;
  workload.tables = {test::make_table(10, 4096)};
  Counting evaluator(workload, 2, {4}, -0.001f);  // every join makes the only device dearer
  const ShapeCatalog catalog(space_of(workload), evaluator);
  const Assignment pieces(1024, Placed{catalog.find(0, 10, 4), 0});
  const Assignment joined = join_pieces(pieces, {workload, test::make_cluster(2, 1 << 30)},
                                        evaluator, catalog, [] { return false; });
  BOOST_TEST((joined == pieces));
  BOOST_TEST(evaluator.plans < 10);
}

BOOST_AUTO_TEST_CASE(three_quarters_of_a_table_on_one_device_become_one_block) {
  Workload workload;
  workload.tables = {test::make_table(10, 16), test::make_table(10, 10)};
  test::TableEvaluator evaluator(workload, 2, {4, 2}, 0.1f);  // each shard costs a little by itself
  const Problem problem{workload, test::make_cluster(2, 1 << 20)};
  const Plan apart{2,
                   {{0, 0, 10, 0, 4, 0},
                    {0, 0, 10, 4, 8, 1},
                    {0, 0, 10, 8, 16, 0},
                    {1, 0, 10, 0, 2, 1},
                    {1, 0, 10, 2, 6, 0},
                    {1, 0, 10, 6, 10, 1}}};
  std::int64_t evaluations = 0;
  const Plan joined = with_joined_columns(apart, problem, evaluator, evaluations);
  // The block with the odd columns comes last.
  const Plan expected{
      2, {{0, 0, 10, 0, 12, 0}, {0, 0, 10, 12, 16, 1}, {1, 0, 10, 0, 4, 0}, {1, 0, 10, 4, 10, 1}}};
  BOOST_TEST((joined == expected));
  BOOST_TEST(evaluations == 2);
  BOOST_TEST(plan_cost(joined, evaluator) < plan_cost(apart, evaluator));
}

// Networks have learned the widths that halving leads to. Between two of them they know others, but
// not that kernels read all rows of a device by more lanes where one block is wider.
BOOST_AUTO_TEST_CASE(networks_are_asked_about_widths_that_as_many_lanes_read) {
  const auto joined_of = [](std::int32_t second) {
    Workload workload;
    workload.tables = {test::make_table(10, 64)};
    test::WidthEvaluator evaluator(workload, 2);
    const Problem problem{workload, test::make_cluster(2, 1 << 20)};
    const std::int32_t end = 16 + second;
    const Plan apart{2, {{0, 0, 10, 0, 16, 0}, {0, 0, 10, 16, end, 0}, {0, 0, 10, end, 64, 1}}};
    std::int64_t evaluations = 0;
    return with_joined_columns(apart, problem, evaluator, evaluations);
  };
  BOOST_TEST(joined_of(8).shards.size() == 2U);   // 24 columns
  BOOST_TEST(joined_of(24).shards.size() == 3U);  // 40, which more lanes read than 16 and 24
  BOOST_TEST(joined_of(6).shards.size() == 3U);   // 22, no multiple of 4
}

BOOST_AUTO_TEST_CASE(tables_that_may_not_be_so_or_cost_more_stay_apart) {
  Workload workload;
  workload.tables = {test::make_table(10, 16), test::make_table(10, 16), test::make_table(10, 16)};
  workload.tables[0].sharding.whole = false;
  workload.tables[1].pooled = false;
  const Problem problem{workload, test::make_cluster(3, 1 << 20)};
  const Plan apart{3,
                   {{0, 0, 10, 0, 8, 0},
                    {0, 0, 10, 8, 16, 0},
                    {1, 0, 10, 0, 4, 1},
                    {1, 0, 10, 4, 8, 1},
                    {1, 0, 10, 8, 16, 2},
                    {2, 0, 5, 0, 16, 2},
                    {2, 5, 10, 0, 16, 2}}};
  std::int64_t evaluations = 0;
  test::TableEvaluator cheaper(workload, 3, {4, 4, 4}, 0.1f);
  BOOST_TEST((with_joined_columns(apart, problem, cheaper, evaluations) == apart));
  BOOST_TEST(evaluations == 0);
  workload.tables[0].sharding.whole = true;
  const Problem whole{workload, problem.cluster};
  test::TableEvaluator costlier(workload, 3, {40, 4, 4}, -0.1f);
  BOOST_TEST((with_joined_columns(apart, whole, costlier, evaluations) == apart));
}

BOOST_AUTO_TEST_CASE(no_plan_of_refine_costs_more_than_its_joined_form) {
  Rng rng(5);
  for (int round = 0; round < 40; ++round) {
    const Workload workload = test::many_tables(rng, 2 + static_cast<int>(rng.below(8)));
    std::vector<float> costs;
    for (std::size_t k = 0; k < workload.tables.size(); ++k) {
      costs.push_back(static_cast<float>(1 + 9 * rng.uniform()));
    }
    test::TableEvaluator evaluator(workload, 3, costs, 0.2f);
    const Problem problem{workload, test::make_cluster(3, std::int64_t{1} << 40)};
    const Plan found = shard_refine(problem, evaluator, {.evaluations = 500})->plan;
    BOOST_TEST(validate(workload, found).ok());
    std::int64_t evaluations = 0;
    BOOST_TEST(plan_cost(found, evaluator) <=
               plan_cost(with_joined_columns(found, problem, evaluator, evaluations), evaluator));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
