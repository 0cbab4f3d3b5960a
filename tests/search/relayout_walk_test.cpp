// Walks whose steps give whole tables another layout, and deal out what is beside them.
#include "search/local/relayout_walk.h"

#include <boost/test/unit_test.hpp>

#include "search/refine/walk_temperatures.h"
#include "tests/search/walk_task.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(relayout_walk)

BOOST_AUTO_TEST_CASE(walks_that_deal_keep_to_memory_and_improve_plans_whether_softened_or_not) {
  Rng rng(5);
  const std::int64_t budget = test::unless_sanitized(3000, 500);
  for (int round = 0; round < 8; ++round) {
    const auto devices = static_cast<std::int32_t>(round == 0 ? 40 : rng.between(2, 8));
    const test::WalkTask task(rng, devices, 12);
    WalkOptions options = walk_at(devices, 0, round);
    if (round % 2 == 0) soften(options, round % 4 == 0);
    RelayoutWalk walk(task.problem, task.evaluator, task.catalog);
    const auto done = [&](std::int64_t steps) {
      return static_cast<double>(steps) / static_cast<double>(budget);
    };
    const auto run = [&] {
      return walk.run_dealing(task.start, budget, options, task.response, Rng(7), done);
    };
    const WalkResult found = run();
    BOOST_TEST(found.candidates == budget);
    task.check(found);
    BOOST_TEST((run().best == found.best));  // whatever the walks before
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
