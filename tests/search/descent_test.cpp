// What gives `refine` a good plan within a millisecond: placing by level, and descending from it.
#include "search/local/descent.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"
#include "search/local/load_placer.h"
#include "search/local/plan_pieces.h"
#include "search/refine/fast_plan.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(descent)

namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

/// What the assignment costs, from nothing.
double full_cost(const Assignment& pieces, const Workload& workload, const ShapeCatalog& catalog,
                 PlanEvaluator& evaluator) {
  return test::cost_of(plan_of(pieces, workload, catalog, evaluator.devices()), evaluator);
}

std::vector<EntryId> whole_tables(const ShapeCatalog& catalog) {
  std::vector<EntryId> pieces;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    pieces.push_back(catalog.whole(table));
  }
  return pieces;
}

bool within(const Workload& workload, const Plan& plan, std::int64_t memory) {
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  return *std::max_element(bytes.begin(), bytes.end()) <= memory;
}

constexpr std::int64_t kPlentyOfPlans = 1'000'000;
const StopCheck kNoLimit{{}};

}  // namespace

BOOST_AUTO_TEST_CASE(placing_by_level_puts_the_heaviest_first_where_least_is) {
  Workload workload;
  workload.tables = {test::make_table(10, 8), test::make_table(10, 8), test::make_table(10, 8),
                     test::make_table(10, 8), test::make_table(10, 8)};
  test::TableEvaluator evaluator(workload, 2, {5, 3, 8, 1, 6});
  const Cluster cluster = test::make_cluster(2, kPlenty);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  LoadPlacer placer({workload, cluster}, evaluator, catalog);
  BOOST_REQUIRE(placer.place(whole_tables(catalog), {}));
  // 8 | 6, then 5 to the 6, 3 to the 8, and 1 where there are 11 both.
  BOOST_TEST((placer.assignment()[2].device != placer.assignment()[4].device));
  BOOST_TEST((placer.assignment()[0].device == placer.assignment()[4].device));
  BOOST_TEST((placer.assignment()[1].device == placer.assignment()[2].device));
  BOOST_TEST(placer.compute_ms()[0] + placer.compute_ms()[1] == 23);
  BOOST_TEST(std::abs(placer.compute_ms()[0] - placer.compute_ms()[1]) == 1);
  BOOST_TEST(placer.dim_sums()[0] + placer.dim_sums()[1] == 40);
}

BOOST_AUTO_TEST_CASE(placing_by_level_puts_pieces_without_a_choice_before_others_with_little) {
  Workload workload;
  workload.tables.assign(4, test::make_table(10, 8));
  workload.tables[0].devices = DeviceSet({0, 1});
  workload.tables[1].devices = DeviceSet({0});
  workload.tables[2].devices = DeviceSet({1, 2});
  test::TableEvaluator evaluator(workload, 3, {8, 6, 7, 9});
  const Cluster cluster = test::make_cluster(3, kPlenty);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  LoadPlacer placer({workload, cluster}, evaluator, catalog);
  BOOST_REQUIRE(placer.place(whole_tables(catalog), {}));
  // The heaviest of the limited would take device 0 first, and then there would be 14.
  BOOST_TEST(placer.assignment()[1].device == 0);
  BOOST_TEST(placer.assignment()[0].device == 1);
  BOOST_TEST(placer.assignment()[2].device == 2);
  BOOST_TEST(placer.assignment()[3].device == 0);
}

BOOST_AUTO_TEST_CASE(placing_by_level_minds_memory_and_the_cap_on_dims) {
  Rng rng(1);
  for (int round = 0; round < 50; ++round) {
    const Workload workload = test::many_tables(rng, 30);
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, 4);
    const Cluster cluster = test::make_cluster(4, workload_bytes(workload) * 13 / 40);
    const ShapeCatalog catalog(space_of(workload), evaluator);
    LoadPlacer placer({workload, cluster}, evaluator, catalog);
    const std::vector<EntryId> pieces = whole_tables(catalog);
    if (placer.place(pieces, {})) {
      BOOST_TEST(within(workload, plan_of(placer.assignment(), workload, catalog, 4),
                        cluster.memory_bytes));
    }
    const Cluster roomy = test::make_cluster(4, kPlenty);
    LoadPlacer capped({workload, roomy}, evaluator, catalog);
    std::int64_t dims = 0;
    for (const Table& table : workload.tables) dims += table.dim;
    BOOST_REQUIRE(capped.place(pieces, {0, 1.2 * static_cast<double>(dims) / 4 + 64, 1e6}));
    for (const std::int64_t own : capped.dim_sums()) {
      BOOST_TEST(static_cast<double>(own) <= 1.2 * static_cast<double>(dims) / 4 + 64);
    }
  }
}

BOOST_AUTO_TEST_CASE(bulky_pieces_are_placed_while_there_is_room) {
  Workload workload;
  workload.tables = {test::make_table(80, 4), test::make_table(80, 4), test::make_table(10, 4),
                     test::make_table(10, 4), test::make_table(10, 4), test::make_table(10, 4)};
  test::TableEvaluator evaluator(workload, 2, {1, 1, 10, 4, 3, 2});
  const Cluster cluster = test::make_cluster(2, 100 * 4 * 4);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  LoadPlacer placer({workload, cluster}, evaluator, catalog);
  // By load, 10 | 4, 3 and 2 leave room for one large table.
  BOOST_TEST(!placer.place(whole_tables(catalog), {}));
  BOOST_REQUIRE(placer.place(whole_tables(catalog), {}, cluster.memory_bytes / 2));
  BOOST_TEST(
      within(workload, plan_of(placer.assignment(), workload, catalog, 2), cluster.memory_bytes));
  BOOST_TEST((placer.assignment()[0].device != placer.assignment()[1].device));
  // A fast plan finds that by itself, and goes on from there.
  const auto fast = fast_plan({workload, cluster}, evaluator, catalog, StopCheck({}));
  BOOST_REQUIRE(fast.has_value());
  BOOST_TEST(!fast->finer);
  BOOST_TEST(within(workload, plan_of(fast->pieces, workload, catalog, 2), cluster.memory_bytes));
}

BOOST_AUTO_TEST_CASE(a_fast_plan_splits_what_memory_does_not_take_whole) {
  Workload workload;
  workload.tables = {test::make_table(60, 8), test::make_table(60, 8), test::make_table(60, 8)};
  test::TableEvaluator evaluator(workload, 2, {1, 1, 1});
  const Cluster cluster = test::make_cluster(2, 100 * 8 * 4);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  const auto fast = fast_plan({workload, cluster}, evaluator, catalog, StopCheck({}));
  BOOST_REQUIRE(fast.has_value());
  BOOST_TEST(fast->finer);
  BOOST_TEST(within(workload, plan_of(fast->pieces, workload, catalog, 2), cluster.memory_bytes));
  BOOST_TEST(std::abs(full_cost(fast->pieces, workload, catalog, evaluator) - 1.5) < 1e-6);
}

BOOST_AUTO_TEST_CASE(tables_that_are_all_as_wide_are_divided_together) {
  // Halving one of them alone makes no exchange shorter, and costs; beside tables that are hot and
  // indivisible none is heavy.
  Rng rng(4);
  SearchOptions no_time;  // for the descent
  no_time.time_limit_s = kLeastTimeLimit;
  for (int round = 0; round < 10; ++round) {
    Workload workload;
    std::vector<float> costs;
    for (int k = 0; k < 16; ++k) {
      const bool hot = k < 10;
      workload.tables.push_back(test::make_table(100, hot ? 4 : 128));
      costs.push_back(static_cast<float>(hot ? 30 + rng.uniform() : 0.01 + 0.05 * rng.uniform()));
    }
    test::FusedEvaluator evaluator(workload, 24, costs, 1, true);
    const Cluster cluster = test::make_cluster(24, kPlenty);
    const ShapeCatalog catalog(space_of(workload), evaluator);
    const auto fast = fast_plan({workload, cluster}, evaluator, catalog, StopCheck(no_time));
    BOOST_REQUIRE(fast.has_value());
    std::vector<std::int64_t> dims(24);
    for (const Placed& piece : fast->pieces) {
      if (piece.device == kNoDevice) continue;
      dims[static_cast<std::size_t>(piece.device)] += catalog.entry(piece.entry).dim;
    }
    BOOST_TEST(*std::max_element(dims.begin(), dims.end()) <= 64);
  }
}

BOOST_AUTO_TEST_CASE(descending_never_costs_more_and_says_what_the_plan_costs) {
  Rng rng(2);
  double before = 0;
  double after = 0;
  for (int round = 0; round < 60; ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 9));
    const Workload workload = test::many_tables(rng, rng.between(1, 40));
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, devices);
    const std::int64_t memory = round % 2 == 0 ? kPlenty : workload_bytes(workload) * 3 / 4;
    const Cluster cluster = test::make_cluster(devices, memory);
    const ShapeCatalog catalog(space_of(workload), evaluator);
    Assignment start;
    for (const EntryId piece : whole_tables(catalog)) {
      start.push_back(
          {piece, static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(devices)))});
    }
    if (!within(workload, plan_of(start, workload, catalog, devices), memory)) continue;
    LocalPlan plan({workload, cluster}, evaluator, catalog);
    plan.assign(start);
    Scratch scratch;
    const CommResponse response = probe_response(plan.batch(), evaluator, scratch);
    Descent descent({workload, cluster}, evaluator, catalog);
    const WalkResult found = descent.run(start, response, kPlentyOfPlans, kNoLimit);
    const Plan reached = plan_of(found.best, workload, catalog, devices);
    BOOST_TEST(validate(workload, reached).ok());
    BOOST_TEST(within(workload, reached, memory));
    const double cost = full_cost(found.best, workload, catalog, evaluator);
    BOOST_TEST(std::abs(cost - found.cost) <= 1e-5 * cost);
    BOOST_TEST(cost <= full_cost(start, workload, catalog, evaluator) * (1 + 1e-6));
    before += full_cost(start, workload, catalog, evaluator);
    after += cost;
    // The same again, whatever has been done before.
    BOOST_TEST((descent.run(start, response, kPlentyOfPlans, kNoLimit).best == found.best));
    // Without a budget for a step, it is where it began.
    BOOST_TEST((descent.run(start, response, 1, kNoLimit).best == start));
  }
  BOOST_TEST(after < 0.75 * before);
}

BOOST_AUTO_TEST_CASE(a_fast_plan_is_valid_and_near_the_level) {
  Rng rng(3);
  double gap = 0;
  for (int round = 0; round < 20; ++round) {
    const Workload workload = test::many_tables(rng, 60);
    std::vector<float> costs;
    double total = 0;
    for (std::size_t k = 0; k < 60; ++k) {
      costs.push_back(static_cast<float>(1 + 9 * rng.uniform()));
      total += costs.back();
    }
    test::TableEvaluator evaluator(workload, 6, costs);
    const Cluster cluster = test::make_cluster(6, kPlenty);
    const ShapeCatalog catalog(space_of(workload), evaluator);
    const auto fast = fast_plan({workload, cluster}, evaluator, catalog, StopCheck({}));
    BOOST_REQUIRE(fast.has_value());
    BOOST_TEST(validate(workload, plan_of(fast->pieces, workload, catalog, 6)).ok());
    gap += full_cost(fast->pieces, workload, catalog, evaluator) / (total / 6) - 1;
  }
  BOOST_TEST(gap / 20 >= -1e-6);
  BOOST_TEST(gap / 20 <= 2e-3);
}

BOOST_AUTO_TEST_CASE(two_heavy_tables_are_both_halved_though_one_alone_gains_nothing) {
  Workload workload;
  for (int k = 0; k < 2; ++k) workload.tables.push_back(test::make_table(100, 64));
  for (int k = 0; k < 8; ++k) workload.tables.push_back(test::make_table(100, 8));
  std::vector<float> costs(10, 0.1f);
  costs[0] = costs[1] = 40;
  test::TableEvaluator evaluator(workload, 8, costs, 0.5f);
  const Cluster cluster = test::make_cluster(8, kPlenty);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  const auto fast = fast_plan({workload, cluster}, evaluator, catalog, StopCheck({}));
  BOOST_REQUIRE(fast.has_value());
  // Each table on four devices.
  BOOST_TEST(full_cost(fast->pieces, workload, catalog, evaluator) < 12);
}

BOOST_AUTO_TEST_CASE(nothing_is_placed_where_memory_is_too_tight) {
  Workload workload;
  workload.tables = {test::make_table(100, 4), test::make_table(100, 4), test::make_table(100, 4)};
  test::TableEvaluator evaluator(workload, 2, {1, 1, 1});
  const Cluster cluster = test::make_cluster(2, 1600);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  BOOST_TEST(!fast_plan({workload, cluster}, evaluator, catalog, StopCheck({})).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
