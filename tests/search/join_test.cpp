// Pieces of a table that are on one device for nothing.
#include "search/local/join.h"

#include <boost/test/unit_test.hpp>

#include "engine/core/plan_check.h"
#include "search/local/local_walk.h"
#include "search/local/plan_pieces.h"
#include "tests/search/table_evaluator.h"

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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
