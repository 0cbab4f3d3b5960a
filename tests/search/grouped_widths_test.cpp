// Plans with wide pieces on some devices and none on the others: which tables stay wide, that they
// fit and cost what they say, and where there are none.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"
#include "search/local/local_walk.h"
#include "search/local/pair_deal.h"
#include "search/local/plan_pieces.h"
#include "search/refine/width_groups.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/limited_tables.h"
#include "tests/search/width_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(grouped_widths)

namespace {

const StopCheck kNoLimit{{}};
constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

/// Two tables of 128 columns, which cost more in pieces of 32; four of 64, which cost less so; ten
/// narrow ones, and one that is hardly looked up.
Workload wide_and_narrow() {
  Workload workload;
  for (int k = 0; k < 2; ++k) workload.tables.push_back(test::make_table(1000, 128, 40));
  for (int k = 0; k < 4; ++k) workload.tables.push_back(test::make_table(1000, 64, 10));
  for (int k = 0; k < 10; ++k) workload.tables.push_back(test::make_table(1000, 16, 10));
  workload.tables.push_back(test::make_table(1000, 16, 0.01));
  return workload;
}

}  // namespace

BOOST_AUTO_TEST_CASE(tables_that_cost_less_whole_stay_wide_and_the_others_are_cut) {
  const Workload workload = wide_and_narrow();
  const Problem problem{workload, test::make_cluster(4, kPlenty)};
  test::WidthEvaluator evaluator(workload, 4);
  const ShapeCatalog catalog(problem.space, evaluator);
  const auto found = width_groups(problem, evaluator, catalog, kNoLimit, kNoBudget);
  BOOST_REQUIRE(found.has_value());
  // 40 lookups, three times as dear, on each of two devices; in pieces of 32, 500 / 4 on all.
  BOOST_TEST(found->cost == 120);
  for (const Placed& piece : found->pieces) {
    const CatalogEntry& entry = catalog.entry(piece.entry);
    BOOST_TEST(entry.dim == (entry.table < 2 ? 128 : entry.table < 6 ? 32 : 16));
  }
  const auto fast = fast_plan(problem, evaluator, catalog, kNoLimit);
  BOOST_REQUIRE(fast.has_value());
  BOOST_TEST(fast->cost > found->cost);
}

BOOST_AUTO_TEST_CASE(they_fit_and_cost_what_they_say_within_the_budget) {
  Rng rng(5);
  int plans = 0;
  for (int round = 0; round < 40; ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 12));
    const Workload workload = test::many_tables(rng, rng.between(devices, 40));
    const Cluster cluster = test::cluster_with_room(workload, devices, 1.1 + rng.uniform());
    const Problem problem{workload, cluster};
    test::FusedEvaluator alike(workload, devices, std::vector<float>(workload.tables.size(), 1),
                               0.5, true);
    const ShapeCatalog catalog(problem.space, alike, {0, round % 2 == 0 ? 8 : 1});
    const std::int64_t budget = rng.between(1, 400);
    const auto found = width_groups(problem, alike, catalog, kNoLimit, budget);
    if (!found) continue;
    ++plans;
    BOOST_TEST(found->evaluations <= budget + 1);
    const Plan plan = plan_of(found->pieces, workload, catalog, devices);
    BOOST_TEST(test::fits(workload, plan, cluster));
    BOOST_TEST(test::canonical_cost(plan, alike) == found->cost,
               boost::test_tools::tolerance(1e-5));
  }
  BOOST_TEST(plans > 20);
}

BOOST_AUTO_TEST_CASE(there_are_none_where_widths_do_not_matter_or_tables_may_not_be_anywhere) {
  const Workload alike{std::vector<Table>(6, test::make_table(1000, 32))};
  const Problem narrow{alike, test::make_cluster(4, kPlenty)};
  test::WidthEvaluator of_narrow(alike, 4);
  const ShapeCatalog narrow_catalog(narrow.space, of_narrow);
  BOOST_TEST(!width_groups(narrow, of_narrow, narrow_catalog, kNoLimit, kNoBudget));

  const Workload workload = wide_and_narrow();
  const Problem problem{workload, test::make_cluster(4, kPlenty)};
  test::TableEvaluator adds_up(workload, 4, std::vector<float>(17, 1));
  const ShapeCatalog catalog(problem.space, adds_up);
  BOOST_TEST(!width_groups(problem, adds_up, catalog, kNoLimit, kNoBudget));

  const Problem tight{workload, test::make_cluster(4, workload_bytes(workload) / 5)};
  test::WidthEvaluator evaluator(workload, 4);
  const ShapeCatalog tight_catalog(tight.space, evaluator);
  BOOST_TEST(!width_groups(tight, evaluator, tight_catalog, kNoLimit, kNoBudget));

  Workload bound = workload;
  bound.tables[3].sharding = test::kOnlyReplicas;
  const Problem limited{bound, test::make_cluster(4, kPlenty)};
  test::WidthEvaluator of_bound(bound, 4);
  const ShapeCatalog bound_catalog(limited.space, of_bound, {0, 1, 0, 4});
  BOOST_TEST(!width_groups(limited, of_bound, bound_catalog, kNoLimit, kNoBudget));
}

BOOST_AUTO_TEST_CASE(
    tables_of_very_many_columns_are_not_cut_into_more_pieces_than_there_is_time_for) {
  Workload workload;
  for (int k = 0; k < 4; ++k) workload.tables.push_back(test::make_table(100, 1 << 20));
  workload.tables.push_back(test::make_table(100, 16));
  const Problem problem{workload, test::make_cluster(8, kPlenty)};
  test::FusedEvaluator cheaper_cut(workload, 8, std::vector<float>(5, 1), 0.5, true);
  const ShapeCatalog catalog(problem.space, cheaper_cut);
  const auto found = width_groups(problem, cheaper_cut, catalog, kNoLimit, 4);
  if (found) BOOST_TEST(found->pieces.size() <= 100'000U / 8);
  PairDealer dealer(cheaper_cut, kPlenty);
  LocalPlan plan(problem, cheaper_cut, catalog);
  Assignment whole;
  for (std::int32_t table = 0; table < 5; ++table) whole.push_back({catalog.whole(table), table});
  plan.assign(whole);
  Rng rng(1);
  Move move;
  std::vector<Edit> undo;
  for (int draw = 0; draw < 200; ++draw) {
    if (dealer.draw(plan, 0, rng, move)) dealer.make(plan, undo);
  }
  BOOST_TEST(plan.assignment().size() <= 1000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
