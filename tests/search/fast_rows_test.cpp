// Which tables go by rows before any walk: the dearest, as many as make the plan cheapest.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/core/shard_bytes.h"
#include "search/local/local_walk.h"
#include "search/local/plan_pieces.h"
#include "search/refine/fast_row_plan.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(fast_rows)

namespace {

const StopCheck kNoLimit{{}};
constexpr std::int32_t kDevices = 4;

/// Six tables that cost 10 ms each and have no columns to split, beside twelve cheap ones.
Workload dear_and_cheap() {
  Workload workload;
  for (int k = 0; k < 6; ++k) workload.tables.push_back(test::make_table(1000, 4));
  for (int k = 0; k < 12; ++k) workload.tables.push_back(test::make_table(1000, 16));
  return workload;
}
std::vector<float> costs_of_dear_and_cheap() {
  std::vector<float> costs(18, 1);
  std::fill_n(costs.begin(), 6, 10.0F);
  return costs;
}

std::vector<std::int32_t> spread_in(const Assignment& pieces, const ShapeCatalog& catalog) {
  std::vector<std::int32_t> tables;
  for (const Placed& piece : pieces) {
    const CatalogEntry& entry = catalog.entry(piece.entry);
    if (entry.spread == Spread::kAll && piece.device == 0) tables.push_back(entry.table);
  }
  std::sort(tables.begin(), tables.end());
  return tables;
}

}  // namespace

BOOST_AUTO_TEST_CASE(as_many_dear_tables_go_over_all_devices_as_make_them_level) {
  const Workload workload = dear_and_cheap();
  const Cluster cluster = test::make_cluster(kDevices, std::int64_t{1} << 30);
  const Problem problem{workload, cluster};
  test::TableEvaluator evaluator(workload, kDevices, costs_of_dear_and_cheap());
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, 1});
  const auto whole = fast_plan(problem, evaluator, catalog, kNoLimit);
  const auto blocks = fast_row_plan(problem, evaluator, catalog, kNoLimit, kNoBudget);
  BOOST_REQUIRE(whole.has_value());
  BOOST_REQUIRE(blocks.has_value());
  BOOST_TEST(whole->cost >= 20);              // two of the six on one device
  BOOST_TEST(blocks->cost <= 18 * 1.000001);  // a quarter of all
  const std::vector<std::int32_t> spread = spread_in(blocks->pieces, catalog);
  BOOST_TEST(spread == (std::vector<std::int32_t>{0, 1}), boost::test_tools::per_element());
  LocalWalk walk(problem, evaluator, catalog);
  BOOST_TEST(std::abs(walk.cost(blocks->pieces) - blocks->cost) <= 1e-5 * blocks->cost);
}

BOOST_AUTO_TEST_CASE(it_is_the_cheapest_of_the_plans_that_have_the_dearest_by_rows) {
  Rng rng(1);
  for (int round = 0; round < 16; ++round) {
    const Workload workload = test::many_tables(rng, rng.between(4, 16));
    const Cluster cluster =
        test::make_cluster(kDevices, workload_bytes(workload) / kDevices * 5 / 4);
    const Problem problem{workload, cluster};
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, kDevices);
    const bool halves = round % 2 == 1;
    const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, halves ? 8 : 1});
    std::vector<double> all;
    std::vector<double> tried;
    const auto add = [&](const std::vector<Division>& divisions, bool is_tried) {
      const auto plan = fast_plan(problem, evaluator, catalog, kNoLimit, divisions);
      if (!plan) return;
      all.push_back(plan->cost);
      if (is_tried) tried.push_back(plan->cost);
    };
    if (halves) add(std::vector<Division>(workload.tables.size(), Division::kRows), true);
    for (const Division division : {Division::kRows, Division::kBlocks}) {
      if (division == Division::kRows && !halves) continue;
      std::vector<Division> divisions(workload.tables.size(), Division::kColumns);
      std::size_t count = 0;
      for (const std::int32_t table : costliest_tables(evaluator, catalog)) {
        divisions[static_cast<std::size_t>(table)] = division;
        add(divisions, ++count <= 4);
      }
    }
    const auto found = fast_row_plan(problem, evaluator, catalog, kNoLimit, kNoBudget);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(std::count(all.begin(), all.end(), found->cost) > 0);
    for (const double cost : tried) BOOST_TEST(found->cost <= cost);
    constexpr std::int64_t kFew = 50;
    const auto soon = fast_row_plan(problem, evaluator, catalog, kNoLimit, kFew);
    BOOST_REQUIRE(soon.has_value());
    BOOST_TEST(soon->evaluations <= kFew + 10);  // the first plans of the last division
  }
}

BOOST_AUTO_TEST_CASE(there_may_be_a_plan_where_columns_alone_find_no_room) {
  // Six tables of two thirds of a device on four: two over all devices make room for the others.
  Workload workload;
  for (int k = 0; k < 6; ++k) workload.tables.push_back(test::make_table(60, 4));
  const Cluster cluster = test::make_cluster(kDevices, 90 * 16);
  const Problem problem{workload, cluster};
  test::TableEvaluator evaluator(workload, kDevices, {1, 1, 1, 1, 1, 1});
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, 1});
  BOOST_TEST(!fast_plan(problem, evaluator, catalog, kNoLimit).has_value());
  const auto found = fast_row_plan(problem, evaluator, catalog, kNoLimit, kNoBudget);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(found->cost <= 1.5 * 1.000001);
  const Plan plan = plan_of(found->pieces, workload, catalog, kDevices);
  BOOST_TEST(test::fits(workload, plan, cluster));
}

BOOST_AUTO_TEST_CASE(nothing_without_rows_or_time) {
  const Workload workload = dear_and_cheap();
  const Cluster cluster = test::make_cluster(kDevices, std::int64_t{1} << 30);
  const Problem problem{workload, cluster};
  test::TableEvaluator evaluator(workload, kDevices, costs_of_dear_and_cheap());
  const ShapeCatalog columns(space_of(workload), evaluator);
  BOOST_TEST(!fast_row_plan(problem, evaluator, columns, kNoLimit, kNoBudget).has_value());
  const ShapeCatalog rows(space_of(workload), evaluator, {kDevices, 8});
  CancelToken cancel;
  cancel.cancel();
  SearchOptions options;
  options.cancel = &cancel;
  const StopCheck stopped(options);
  BOOST_TEST(!fast_row_plan(problem, evaluator, rows, stopped, kNoBudget).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
