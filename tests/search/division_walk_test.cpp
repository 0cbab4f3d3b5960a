// Walks over what tables are divided into.
#include "search/refine/division_walk.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "search/local/load_placer.h"
#include "tests/search/walk_task.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {

namespace {

using test::wholes_of;

WalkProgress up_to(std::int64_t budget) {
  return [budget](std::int64_t candidates) {
    return static_cast<double>(candidates) / static_cast<double>(budget);
  };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(division_walk)

BOOST_AUTO_TEST_CASE(walks_keep_to_memory_and_budget_and_find_cheaper_plans_than_wholes) {
  Rng rng(5);
  const std::int64_t budget = test::unless_sanitized(3000, 500);
  for (int round = 0; round < 8; ++round) {
    const auto devices = static_cast<std::int32_t>(round == 0 ? 40 : rng.between(2, 8));
    const test::WalkTask task(rng, devices, 12);
    DivisionWalk walk(task.problem, task.evaluator, task.catalog);
    const auto run = [&] {
      return walk.run(task.start, budget, task.response, Rng(7), up_to(budget));
    };
    const WalkResult found = run();
    BOOST_TEST(found.candidates <= budget);
    BOOST_TEST(found.candidates > budget * 9 / 10);
    task.check(found);
    BOOST_TEST((run().best == found.best));  // whatever the walks before
  }
}

BOOST_AUTO_TEST_CASE(a_walk_begins_with_the_divisions_of_its_start) {
  constexpr std::int32_t kDevices = 4;
  Rng rng(9);
  const Workload workload = test::many_tables(rng, 6);
  const Problem problem{workload, test::make_cluster(kDevices, std::int64_t{1} << 40)};
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, kDevices);
  const ShapeCatalog catalog(problem.space, evaluator, {.blocks = kDevices, .replicas = kDevices});
  std::vector<EntryId> pieces = wholes_of(catalog);
  pieces[0] = catalog.block(0);
  pieces[1] = catalog.replica(1);
  const CatalogEntry& split = catalog.entry(pieces[2]);
  pieces[2] = split.first;
  pieces.push_back(split.rest);
  LoadPlacer placer(problem, evaluator, catalog);
  BOOST_REQUIRE(placer.place(pieces, {}));
  const Assignment start = placer.assignment();
  const std::int64_t one_step = DivisionWalk::candidates_of_step(pieces.size());
  DivisionWalk walk(problem, evaluator, catalog);
  const WalkResult found = walk.run(start, one_step, {}, Rng(1), up_to(one_step));
  BOOST_TEST(found.candidates == one_step);
  const auto entries = [](const Assignment& assignment) {
    std::vector<EntryId> ids;
    for (const Placed& piece : assignment) ids.push_back(piece.entry);
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  BOOST_TEST(entries(found.best) == entries(start), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(there_is_no_plan_without_the_budget_or_the_memory_for_one) {
  Rng rng(3);
  const Workload workload = test::many_tables(rng, 4);
  const SearchSpace space = space_of(workload);
  std::int64_t all = 0;
  for (std::int32_t table = 0; table < 4; ++table) all += space.whole_bytes(table);
  const Cluster cluster = test::make_cluster(2, all);
  const Problem problem{workload, cluster};
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 2);
  const ShapeCatalog catalog(problem.space, evaluator);
  LoadPlacer placer(problem, evaluator, catalog);
  BOOST_REQUIRE(placer.place(wholes_of(catalog), {}));
  DivisionWalk walk(problem, evaluator, catalog);
  const WalkResult no_budget = walk.run(placer.assignment(), 0, {}, Rng(1), up_to(1));
  BOOST_TEST(no_budget.best.empty());
  BOOST_TEST(std::isinf(no_budget.cost));
  BOOST_TEST(no_budget.candidates == 0);

  const Cluster small = test::make_cluster(2, all / 4);
  const Problem full{workload, small};
  DivisionWalk cramped(full, evaluator, catalog);
  const WalkResult no_memory = cramped.run(placer.assignment(), 100, {}, Rng(1), up_to(100));
  BOOST_TEST(no_memory.best.empty());
  BOOST_TEST(std::isinf(no_memory.cost));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
