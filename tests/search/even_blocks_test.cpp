// Which tables go over all devices before any walk: the dearest, as many as make the plan cheapest.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "search/local/local_walk.h"
#include "search/local/redraw.h"
#include "search/refine/block_plan.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(even_blocks)

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
    if (entry.everywhere && piece.device == 0) tables.push_back(entry.table);
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
  const ShapeCatalog catalog(workload, evaluator, {kDevices, 1});
  const auto whole = fast_plan(problem, evaluator, catalog, kNoLimit);
  const auto blocks = block_plan(problem, evaluator, catalog, kNoLimit, 0);
  BOOST_REQUIRE(whole.has_value());
  BOOST_REQUIRE(blocks.has_value());
  BOOST_TEST(whole->cost >= 20);              // two of the six on one device
  BOOST_TEST(blocks->cost <= 18 * 1.000001);  // a quarter of all
  const std::vector<std::int32_t> spread = spread_in(blocks->pieces, catalog);
  BOOST_TEST(spread == (std::vector<std::int32_t>{0, 1}), boost::test_tools::per_element());
  LocalWalk walk(problem, evaluator, catalog);
  BOOST_TEST(std::abs(walk.cost(blocks->pieces) - blocks->cost) <= 1e-5 * blocks->cost);
}

BOOST_AUTO_TEST_CASE(it_is_the_cheapest_of_the_plans_with_the_dearest_spread) {
  Rng rng(1);
  for (int round = 0; round < 12; ++round) {
    const Workload workload = test::many_tables(rng, rng.between(4, 16));
    const Cluster cluster =
        test::make_cluster(kDevices, test::total_bytes(workload) / kDevices * 5 / 4);
    const Problem problem{workload, cluster};
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, kDevices);
    const ShapeCatalog catalog(workload, evaluator, {kDevices, 1});
    const auto found = block_plan(problem, evaluator, catalog, kNoLimit, 0);
    const auto first_alone = block_plan(problem, evaluator, catalog, kNoLimit, 1);
    BOOST_REQUIRE(found.has_value());
    std::vector<Division> divisions(workload.tables.size(), Division::kColumns);
    std::vector<double> costs;
    for (const std::int32_t table : dearest_with_blocks(evaluator, catalog)) {
      divisions[static_cast<std::size_t>(table)] = Division::kBlocks;
      const auto plan = fast_plan(problem, evaluator, catalog, kNoLimit, divisions);
      if (!plan) continue;
      if (costs.empty()) BOOST_TEST(first_alone->cost == plan->cost);
      costs.push_back(plan->cost);
    }
    BOOST_TEST(std::count(costs.begin(), costs.end(), found->cost) > 0);
    for (std::size_t k = 0; k < std::min<std::size_t>(4, costs.size()); ++k) {
      BOOST_TEST(found->cost <= costs[k]);
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_without_blocks_or_time) {
  const Workload workload = dear_and_cheap();
  const Cluster cluster = test::make_cluster(kDevices, std::int64_t{1} << 30);
  const Problem problem{workload, cluster};
  test::TableEvaluator evaluator(workload, kDevices, costs_of_dear_and_cheap());
  const ShapeCatalog columns(workload, evaluator);
  BOOST_TEST(!block_plan(problem, evaluator, columns, kNoLimit, 0).has_value());
  const ShapeCatalog rows(workload, evaluator, {kDevices, 1});
  CancelToken cancel;
  cancel.cancel();
  SearchOptions options;
  options.cancel = &cancel;
  const StopCheck stopped(options);
  BOOST_TEST(!block_plan(problem, evaluator, rows, stopped, 0).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
