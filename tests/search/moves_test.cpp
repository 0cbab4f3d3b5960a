// Moves where memory is full: what one piece alone cannot do, two that change places can.
#include "search/local/moves.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "tests/search/any_widths.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::search {
namespace {

constexpr std::int64_t kHalf = 1000 * 4 * 4;  ///< bytes of 1,000 rows x 4 columns of fp32

/// Two devices that are full of tables of 1,000 rows.
struct Full {
  Workload workload;
  test::TableEvaluator evaluator;
  ShapeCatalog catalog;
  LocalPlan plan;

  explicit Full(std::vector<std::int32_t> dims)
      : workload(tables_of(dims)),
        evaluator(workload, 2, std::vector<float>(dims.size(), 1)),
        catalog(space_of(workload), evaluator),
        plan({workload, test::make_cluster(2, 2 * kHalf)}, evaluator, catalog) {}

  static Workload tables_of(const std::vector<std::int32_t>& dims) {
    Workload workload;
    for (const std::int32_t dim : dims) workload.tables.push_back(test::make_table(1000, dim));
    return workload;
  }

  /// Makes moves that keep to the memory until the plan is as wanted; false when it never is.
  bool comes_to(const std::function<bool()>& wanted) {
    Rng rng(1);
    const MoveSource source({}, 2 * kHalf, true);
    Move move;
    for (int step = 0; step < 20'000; ++step) {
      if (!source.draw(plan, 0, rng, move)) continue;
      for (int k = 0; k < move.edit_count; ++k) plan.apply(move.edits[static_cast<std::size_t>(k)]);
      const std::int64_t most = *std::max_element(plan.bytes().begin(), plan.bytes().end());
      BOOST_REQUIRE(most <= 2 * kHalf);
      if (wanted()) return true;
    }
    return false;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(moves)

BOOST_AUTO_TEST_CASE(halves_on_full_devices_are_joined_when_a_piece_makes_room) {
  Full full({8, 4, 4});
  const EntryId half = full.catalog.entry(full.catalog.whole(0)).first;
  full.plan.assign(
      Assignment{{half, 0}, {half, 1}, {full.catalog.whole(1), 0}, {full.catalog.whole(2), 1}});
  BOOST_TEST(full.comes_to([&] { return full.plan.split_tables().empty(); }));
}

BOOST_AUTO_TEST_CASE(a_piece_changes_places_with_two_on_a_full_device) {
  Full full({8, 4, 4});
  // Tables of 8 columns can be split, too: only a swap gets the whole one across in one move.
  full.plan.assign(Assignment{
      {full.catalog.whole(0), 0}, {full.catalog.whole(1), 1}, {full.catalog.whole(2), 1}});
  bool split = false;
  const bool across = full.comes_to([&] {
    split = split || !full.plan.split_tables().empty();
    return full.plan.placed(0).device == 1 || split;
  });
  BOOST_TEST((across && !split));
}

BOOST_AUTO_TEST_CASE(pieces_of_a_table_on_one_device_stay_equally_wide_for_who_runs_no_others) {
  Rng rng(3);
  const Workload workload = Full::tables_of({64, 48, 96, 16});
  const Cluster cluster = test::make_cluster(3, std::int64_t{1} << 40);
  test::FusedEvaluator evaluator = test::random_fused(rng, workload, 3);
  for (const bool one_width : {false, true}) {
    SearchSpace space = test::with_any_widths(workload);
    for (TableSpace& table : space.tables) table.one_width = one_width;
    const Problem problem{workload, cluster, space};
    const ShapeCatalog catalog(space, evaluator);
    LocalPlan plan(problem, evaluator, catalog);
    Assignment wholes;
    for (std::int32_t table = 0; table < 4; ++table) {
      wholes.push_back({catalog.whole(table), table % 3});
    }
    plan.assign(wholes);
    MoveMix mix;
    mix.resize = 0.1;
    mix.uneven = 0.5;
    const MoveSource source(mix, cluster.memory_bytes, true);
    std::int64_t met = 0;
    Move move;
    for (int step = 0; step < 5'000; ++step) {
      if (!source.draw(plan, 0, rng, move)) continue;
      make(plan, move);
      for (std::int32_t table = 0; table < 4; ++table) {
        for (const std::int32_t one : plan.pieces_of(table)) {
          for (const std::int32_t other : plan.pieces_of(table)) {
            met += plan.placed(one).device == plan.placed(other).device &&
                   plan.entry_of(one).dim != plan.entry_of(other).dim;
          }
        }
      }
    }
    BOOST_TEST(plan.split_tables().size() > 0U);
    BOOST_TEST((met == 0) == one_width);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
