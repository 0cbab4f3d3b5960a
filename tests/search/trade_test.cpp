// Moves that trade columns of two tables: what they say of costs and memory is so, and they get on
// where devices are full.
#include "search/local/trade.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

#include "search/local/moves.h"
#include "search/local/plan_pieces.h"
#include "tests/search/any_widths.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::search {
namespace {

MoveMix only_trades() {
  MoveMix mix;
  mix.swap = mix.split = mix.merge = mix.exchange = 0;
  mix.trade = 1;
  return mix;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(trade)

BOOST_AUTO_TEST_CASE(trades_are_what_they_say_and_are_taken_back) {
  Rng rng(11);
  int made = 0;
  for (int round = 0; round < 20; ++round) {
    Workload workload;
    for (int table = 0; table < 8; ++table) {
      const auto dim = static_cast<std::int32_t>(rng.between(4, 40));  // not all multiples of 4
      workload.tables.push_back(test::make_table(rng.between(100, 3000), dim));
    }
    const auto devices = static_cast<std::int32_t>(rng.between(2, 4));
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, devices);
    const SearchSpace space = test::with_any_widths(workload);
    Cluster cluster = test::make_cluster(devices, std::int64_t{1} << 40);
    const ShapeCatalog catalog(space, evaluator);
    LocalPlan plan({workload, cluster, space}, evaluator, catalog);
    Assignment wholes;
    for (std::int32_t table = 0; table < catalog.tables(); ++table) {
      wholes.push_back({catalog.whole(table), table % devices});
    }
    plan.assign(wholes);
    const std::int64_t memory = *std::max_element(plan.bytes().begin(), plan.bytes().end());
    const MoveSource source(only_trades(), memory, true);
    std::vector<Edit> journal;
    Move move;
    for (int step = 0; step < 300; ++step) {
      if (!source.draw(plan, 0, rng, move)) continue;
      ++made;
      for (int k = 0; k < move.edit_count; ++k) {
        journal.push_back(plan.apply(move.edits[static_cast<std::size_t>(k)]));
      }
      for (std::size_t k = 0; k < 2; ++k) {
        const auto device = static_cast<std::size_t>(move.changes[k].device);
        const float found = plan.compute_ms()[device];
        BOOST_REQUIRE_SMALL(found - move.compute_ms[k], 1e-5F * (1 + found));
        BOOST_REQUIRE(plan.dim_sums()[device] == move.dims[k]);
        BOOST_REQUIRE(plan.bytes()[device] <= memory);
      }
    }
    const Plan shards = plan_of(plan.assignment(), workload, catalog, devices);
    BOOST_TEST(validate(workload, shards).message() == "");
    for (auto undo = journal.rbegin(); undo != journal.rend(); ++undo) plan.apply(*undo);
    Assignment before = plan.assignment();
    std::erase_if(before, [](const Placed& piece) { return piece.device == kNoDevice; });
    BOOST_TEST((before == wholes));
  }
  BOOST_TEST(made > 1000);
}

BOOST_AUTO_TEST_CASE(full_devices_exchange_parts_of_their_only_tables) {
  constexpr std::int64_t kColumns = 1000 * 4 * 8;  // bytes of 1,000 rows x 8 columns of fp32
  Workload workload;
  for (int table = 0; table < 2; ++table) workload.tables.push_back(test::make_table(1000, 8));
  test::TableEvaluator evaluator(workload, 2, {1, 1});
  const SearchSpace space = test::with_any_widths(workload);
  const ShapeCatalog catalog(space, evaluator);
  const auto are_both_divided = [&](const MoveMix& mix) {
    LocalPlan plan({workload, test::make_cluster(2, kColumns), space}, evaluator, catalog);
    plan.assign(Assignment{{catalog.whole(0), 0}, {catalog.whole(1), 1}});
    const MoveSource source(mix, kColumns, true);
    Rng rng(1);
    Move move;
    for (int step = 0; step < 2000 && plan.split_tables().size() < 2; ++step) {
      if (source.draw(plan, 0, rng, move)) make(plan, move);
    }
    return plan.split_tables().size() == 2;
  };
  BOOST_TEST(are_both_divided(only_trades()));
  MoveMix others;
  others.resize = 0.1;
  others.uneven = 0.5;
  BOOST_TEST(!are_both_divided(others));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
