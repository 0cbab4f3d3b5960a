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
#include "search/refine/width_splits.h"
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
  const std::vector<FastPlan> all = width_groups(problem, evaluator, catalog, kNoLimit, kNoBudget);
  BOOST_TEST_REQUIRE(!all.empty());
  const FastPlan* const found = &all.front();
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

BOOST_AUTO_TEST_CASE(tables_bound_to_devices_are_on_them_and_do_not_keep_the_others_from_groups) {
  Workload workload = wide_and_narrow();
  workload.tables[0].devices = DeviceSet({3});      // wide, where narrow pieces go
  workload.tables.back().devices = DeviceSet({0});  // narrow, where wide ones go
  const Problem problem{workload, test::make_cluster(4, kPlenty)};
  test::WidthEvaluator evaluator(workload, 4);
  const ShapeCatalog catalog(problem.space, evaluator);
  const std::vector<FastPlan> all = width_groups(problem, evaluator, catalog, kNoLimit, kNoBudget);
  BOOST_TEST_REQUIRE(!all.empty());
  for (const FastPlan& found : all) {
    BOOST_TEST(validate(workload, plan_of(found.pieces, workload, catalog, 4)).ok());
    for (const Placed& piece : found.pieces) {
      const std::int32_t table = catalog.entry(piece.entry).table;
      if (table == 0) BOOST_TEST(piece.device == 3);
      if (table == 16) BOOST_TEST(piece.device == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(other_numbers_of_devices_have_wide_pieces_where_the_best_is_not_whole) {
  // Wide tables alone would take a device and a half of four: either of two plans may be the better
  // start, so both are there, the cheaper first.
  Workload workload;
  for (int k = 0; k < 3; ++k) workload.tables.push_back(test::make_table(1000, 128, 20));
  for (int k = 0; k < 25; ++k) workload.tables.push_back(test::make_table(1000, 16, 10));
  const Problem problem{workload, test::make_cluster(4, kPlenty)};
  test::WidthEvaluator evaluator(workload, 4);
  const ShapeCatalog catalog(problem.space, evaluator);
  const std::vector<FastPlan> all = width_groups(problem, evaluator, catalog, kNoLimit, kNoBudget);
  BOOST_TEST_REQUIRE(all.size() == kMostWidthGroups);
  BOOST_TEST((all[0].pieces != all[1].pieces));
}

BOOST_AUTO_TEST_CASE(splits_of_the_devices_are_the_fastest_that_there_are) {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<WideTable> wide(static_cast<std::size_t>(rng.between(1, 8)));
    for (WideTable& table : wide) table = {0, {}, 1 + rng.uniform(), 1 + rng.uniform()};
    const double narrow_ms = rng.uniform() * 8;
    const auto devices = static_cast<std::int32_t>(rng.between(2, 9));
    const auto mean = [&](std::size_t count) {
      double sum = narrow_ms;
      for (std::size_t k = 0; k < wide.size(); ++k) {
        sum += k < count ? wide[k].wide_ms : wide[k].narrow_ms;
      }
      return sum;
    };
    const auto slowest = [&](const WidthSplit& split) {
      double own = 0;
      for (std::size_t k = 0; k < split.wide; ++k) own += wide[k].wide_ms;
      return std::max(own / split.devices, (mean(split.wide) - own) / (devices - split.devices));
    };
    const std::vector<WidthSplit> splits = width_splits(wide, narrow_ms, devices, 100);
    BOOST_TEST_REQUIRE(!splits.empty());
    for (std::size_t count = 0; count <= wide.size(); ++count) {
      BOOST_TEST(mean(splits[0].wide) <= mean(count) + 1e-9);
      for (const WidthSplit& split : splits) {
        if (split.wide == splits[0].wide) continue;
        BOOST_TEST(slowest(split) <= slowest({count, split.devices}) + 1e-9);
      }
    }
    BOOST_TEST(width_splits(wide, narrow_ms, devices, 0).size() <= 2U);
  }
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
    std::int64_t evaluations = 0;
    for (const FastPlan& found : width_groups(problem, alike, catalog, kNoLimit, budget)) {
      ++plans;
      evaluations += found.evaluations;
      const Plan plan = plan_of(found.pieces, workload, catalog, devices);
      BOOST_TEST(test::fits(workload, plan, cluster));
      BOOST_TEST(test::canonical_cost(plan, alike) == found.cost,
                 boost::test_tools::tolerance(1e-5));
    }
    BOOST_TEST(evaluations <= budget + static_cast<std::int64_t>(kMostWidthGroups));
  }
  BOOST_TEST(plans > 20);
}

BOOST_AUTO_TEST_CASE(there_are_none_where_widths_do_not_matter_or_tables_may_not_be_in_pieces) {
  const Workload alike{std::vector<Table>(6, test::make_table(1000, 32))};
  const Problem narrow{alike, test::make_cluster(4, kPlenty)};
  test::WidthEvaluator of_narrow(alike, 4);
  const ShapeCatalog narrow_catalog(narrow.space, of_narrow);
  BOOST_TEST(width_groups(narrow, of_narrow, narrow_catalog, kNoLimit, kNoBudget).empty());

  const Workload workload = wide_and_narrow();
  const Problem problem{workload, test::make_cluster(4, kPlenty)};
  test::TableEvaluator adds_up(workload, 4, std::vector<float>(17, 1));
  const ShapeCatalog catalog(problem.space, adds_up);
  BOOST_TEST(width_groups(problem, adds_up, catalog, kNoLimit, kNoBudget).empty());

  const Problem tight{workload, test::make_cluster(4, workload_bytes(workload) / 5)};
  test::WidthEvaluator evaluator(workload, 4);
  const ShapeCatalog tight_catalog(tight.space, evaluator);
  BOOST_TEST(width_groups(tight, evaluator, tight_catalog, kNoLimit, kNoBudget).empty());

  Workload bound = workload;
  bound.tables[3].sharding = test::kOnlyReplicas;
  const Problem limited{bound, test::make_cluster(4, kPlenty)};
  test::WidthEvaluator of_bound(bound, 4);
  const ShapeCatalog bound_catalog(limited.space, of_bound, {0, 1, 0, 4});
  BOOST_TEST(width_groups(limited, of_bound, bound_catalog, kNoLimit, kNoBudget).empty());
}

BOOST_AUTO_TEST_CASE(
    tables_of_very_many_columns_are_not_cut_into_more_pieces_than_there_is_time_for) {
  Workload workload;
  for (int k = 0; k < 4; ++k) workload.tables.push_back(test::make_table(100, 1 << 20));
  workload.tables.push_back(test::make_table(100, 16));
  const Problem problem{workload, test::make_cluster(8, kPlenty)};
  test::FusedEvaluator cheaper_cut(workload, 8, std::vector<float>(5, 1), 0.5, true);
  const ShapeCatalog catalog(problem.space, cheaper_cut);
  for (const FastPlan& found : width_groups(problem, cheaper_cut, catalog, kNoLimit, 4)) {
    BOOST_TEST(found.pieces.size() <= 100'000U / 8);
  }
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
