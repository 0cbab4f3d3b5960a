// Pieces of any multiple of 4 columns: their sizes, the moves between them, and plans that only
// they make.
#include "search/refine/any_widths.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

#include "engine/core/plan_check.h"
#include "search/local/moves.h"
#include "search/local/plan_pieces.h"
#include "search/refine/refine.h"
#include "tests/search/any_widths.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::search {
namespace {

/// The sum of what a device's pieces cost one by one.
float cost_alone(const LocalPlan& plan, const PlanEvaluator& evaluator, std::int32_t device) {
  double cost = 0;
  for (const std::int32_t piece : plan.pieces_on(device)) {
    cost += evaluator.shape_cost(plan.entry_of(piece).shape);
  }
  return static_cast<float>(cost);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(any_widths)

BOOST_AUTO_TEST_CASE(all_multiples_of_4_are_there_and_what_they_leave) {
  Workload workload;
  workload.tables = {test::make_table(10, 22), test::make_table(10, 32), test::make_table(10, 64)};
  workload.tables[2].sharding.min_columns = 16;
  test::TableEvaluator evaluator(workload, 2, {1, 1, 1});
  const ShapeCatalog catalog(test::with_any_widths(workload), evaluator);
  for (const std::int32_t dim : {4, 8, 12, 16, 6, 10, 14, 18, 22}) {
    BOOST_TEST(catalog.find(0, 10, dim) != kNoEntry, dim);
  }
  for (const std::int32_t dim : {0, 2, 5, 20, 23, 26}) {
    BOOST_TEST(catalog.find(0, 10, dim) == kNoEntry, dim);
  }
  BOOST_TEST(catalog.joined(catalog.find(1, 10, 20), catalog.find(1, 10, 12)) == catalog.whole(1));
  BOOST_TEST(catalog.joined(catalog.find(1, 10, 20), catalog.find(1, 10, 20)) == kNoEntry);
  BOOST_TEST(catalog.find(2, 10, 12) == kNoEntry);
  BOOST_TEST(catalog.find(2, 10, 52) == kNoEntry);
  BOOST_TEST(catalog.find(2, 10, 44) != kNoEntry);
}

BOOST_AUTO_TEST_CASE(tables_of_sequences_stay_in_halves) {
  Workload workload;
  workload.tables = {test::make_table(10, 64), test::make_table(10, 64)};
  workload.tables[0].pooled = false;
  test::TableEvaluator evaluator(workload, 2, {2, 1});
  const ShapeCatalog halves(space_of(workload), evaluator);
  const SearchSpace space = with_any_widths(space_of(workload), evaluator, halves, 1000);
  BOOST_TEST(!space.tables[0].any_widths);
  BOOST_TEST(space.tables[1].any_widths);
  BOOST_TEST(!with_any_widths(space_of(workload), evaluator, halves, 10).tables[1].any_widths);
}

BOOST_AUTO_TEST_CASE(moves_keep_every_column_and_the_costs) {
  Rng rng(3);
  Workload workload;
  std::vector<float> costs;
  for (int table = 0; table < 12; ++table) {
    workload.tables.push_back(test::make_table(10, static_cast<std::int32_t>(rng.between(4, 130))));
    costs.push_back(static_cast<float>(rng.between(1, 20)));
  }
  test::TableEvaluator evaluator(workload, 4, costs, 0.125f);
  const ShapeCatalog catalog(test::with_any_widths(workload), evaluator);
  LocalPlan plan({workload, test::make_cluster(4, std::int64_t{1} << 40)}, evaluator, catalog);
  Assignment start;
  for (std::int32_t table = 0; table < 12; ++table)
    start.push_back({catalog.whole(table), table % 4});
  plan.assign(start);
  const MoveSource source({.resize = 0.3, .uneven = 0.8}, std::int64_t{1} << 40, true);
  Move move;
  int resized = 0;
  for (int step = 0; step < 4000; ++step) {
    if (!source.draw(plan, 1, rng, move)) continue;
    const bool resizes = move.edit_count == 2 && move.changes[0].with[0] != kNoEntry &&
                         move.changes[0].device == move.edits[0].to.device &&
                         move.changes[1].device == move.edits[1].to.device;
    const bool taken_back = rng.below(3) == 0;
    const Plan before = plan_of(plan.assignment(), workload, catalog, 4);
    const auto undo = make(plan, move);
    resized += resizes ? 1 : 0;
    for (std::size_t k = 0; k < 2; ++k) {
      if (move.changes[k].device == kNoDevice) continue;
      const auto device = static_cast<std::size_t>(move.changes[k].device);
      BOOST_REQUIRE_CLOSE(plan.compute_ms()[device], move.compute_ms[k], 1e-3);
      BOOST_REQUIRE_CLOSE(plan.compute_ms()[device],
                          cost_alone(plan, evaluator, move.changes[k].device), 1e-3);
      BOOST_REQUIRE(plan.dim_sums()[device] == move.dims[k]);
    }
    BOOST_REQUIRE(validate(workload, plan_of(plan.assignment(), workload, catalog, 4)).ok());
    if (!taken_back) continue;
    take_back(plan, move, undo);
    BOOST_REQUIRE((plan_of(plan.assignment(), workload, catalog, 4) == before));
  }
  BOOST_TEST(resized > 100);
}

BOOST_AUTO_TEST_CASE(one_table_goes_over_three_devices_in_thirds) {
  Workload workload;
  workload.tables = {test::make_table(1000, 96)};
  test::TableEvaluator evaluator(workload, 3, {3}, 0.01f);
  SearchOptions options;
  options.evaluations = 20'000;
  const Problem problem(workload, test::make_cluster(3, std::int64_t{1} << 30));
  const auto found = shard_refine(problem, evaluator, options);
  BOOST_REQUIRE(found.ok());
  BOOST_REQUIRE(found->plan.shards.size() == 3u);
  for (const Shard& shard : found->plan.shards) BOOST_TEST(shard.dim() == 32);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
