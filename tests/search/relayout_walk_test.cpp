// Walks whose steps give whole tables another layout, and deal out what is beside them.
#include "search/local/relayout_walk.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "search/local/comm_response.h"
#include "search/local/load_placer.h"
#include "search/local/plan_pieces.h"
#include "search/plan_cost.h"
#include "search/refine/walk_temperatures.h"
#include "tests/search/fused_evaluator.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(relayout_walk)

BOOST_AUTO_TEST_CASE(walks_that_deal_keep_to_memory_and_improve_plans_whether_softened_or_not) {
  Rng rng(5);
  const std::int64_t budget = test::unless_sanitized(3000, 500);
  for (int round = 0; round < 8; ++round) {
    const auto devices = static_cast<std::int32_t>(round == 0 ? 40 : rng.between(2, 8));
    const Workload workload = test::many_tables(rng, 12);
    std::int64_t largest = 0;
    std::int64_t all = 0;
    for (std::int32_t table = 0; table < 12; ++table) {
      const std::int64_t bytes = space_of(workload).whole_bytes(table);
      largest = std::max(largest, bytes);
      all += bytes;
    }
    const Cluster cluster =
        test::make_cluster(devices, std::max(2 * largest, all / devices * 3 / 2));
    const Problem problem{workload, cluster};
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, devices);
    const ShapeCatalog catalog(problem.space, evaluator, {devices, 4});
    std::vector<EntryId> wholes;
    for (std::int32_t table = 0; table < 12; ++table) wholes.push_back(catalog.whole(table));
    LoadPlacer placer(problem, evaluator, catalog);
    BOOST_REQUIRE(placer.place(wholes, {}));
    const Assignment start = placer.assignment();
    LocalWalk costs(problem, evaluator, catalog);
    const double before = costs.cost(start);
    const CommResponse response = costs.probe(start);
    WalkOptions options = walk_at(devices, 0, round);
    if (round % 2 == 0) soften(options, round % 4 == 0);
    RelayoutWalk walk(problem, evaluator, catalog);
    const auto done = [&](std::int64_t steps) {
      return static_cast<double>(steps) / static_cast<double>(budget);
    };
    const auto run = [&] {
      return walk.run_dealing(start, budget, options, response, Rng(7), done);
    };
    const WalkResult found = run();
    BOOST_TEST(found.cost < before);
    BOOST_TEST(found.candidates == budget);
    const Plan plan = plan_of(found.best, workload, catalog, devices);
    BOOST_TEST(validate(workload, plan).ok());
    BOOST_TEST(found.cost == plan_cost(plan, evaluator), boost::test_tools::tolerance(1e-5));
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(devices));
    for (const Placed& piece : found.best) {
      if (piece.device == kNoDevice) continue;
      bytes[static_cast<std::size_t>(piece.device)] += catalog.entry(piece.entry).bytes;
    }
    BOOST_TEST(*std::max_element(bytes.begin(), bytes.end()) <= cluster.memory_bytes);
    BOOST_TEST((run().best == found.best));  // whatever the walks before
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
