// Moves that deal out two devices' pieces by width: what they say of themselves against the plan
// after them, and what walks find by them where widths decide what a device costs.
#include "search/local/pair_deal.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <vector>

#include "search/local/local_walk.h"
#include "tests/search/fused_evaluator.h"
#include "tests/search/width_evaluator.h"

namespace neuroshard::search {
namespace {

/// Whether the pieces of each table have all its columns between them.
bool covers(const LocalPlan& plan) {
  const ShapeCatalog& catalog = plan.catalog();
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    std::int32_t columns = 0;
    for (const std::int32_t piece : plan.pieces_of(table)) columns += plan.entry_of(piece).dim;
    if (columns != catalog.entry(catalog.whole(table)).dim) return false;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pair_deal)

BOOST_AUTO_TEST_CASE(a_deal_is_by_width_within_memory_and_costs_what_it_says) {
  Rng rng(3);
  constexpr std::int32_t kDevices = 4;
  int drawn = 0;
  int cuts = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Workload workload = test::many_tables(rng, 30);
    test::FusedEvaluator fused = test::random_fused(rng, workload, kDevices);
    test::WidthEvaluator by_width(workload, kDevices);
    PlanEvaluator& evaluator =
        trial % 2 == 0 ? static_cast<PlanEvaluator&>(fused) : static_cast<PlanEvaluator&>(by_width);
    const ShapeCatalog catalog(space_of(workload), evaluator);
    const Cluster cluster = test::cluster_with_room(workload, kDevices, 1.3);
    LocalPlan plan({workload, cluster}, evaluator, catalog);
    Assignment start;
    for (std::int32_t table = 0; table < catalog.tables(); ++table) {
      start.push_back({catalog.whole(table), static_cast<std::int32_t>(rng.below(kDevices))});
    }
    plan.assign(start);
    PairDealer dealer(evaluator, cluster.memory_bytes);
    Move move;
    if (!dealer.draw(plan, 1, rng, move)) continue;
    ++drawn;
    const std::vector<std::int64_t> before(plan.bytes().begin(), plan.bytes().end());
    const std::vector<float> costs(plan.compute_ms().begin(), plan.compute_ms().end());
    std::vector<Edit> undo;
    dealer.make(plan, undo);
    std::int32_t narrowest = std::numeric_limits<std::int32_t>::max();
    std::int32_t widest = 0;
    for (const std::int32_t piece : plan.pieces_on(move.changes[0].device)) {
      narrowest = std::min(narrowest, plan.entry_of(piece).dim);
    }
    for (const std::int32_t piece : plan.pieces_on(move.changes[1].device)) {
      widest = std::max(widest, plan.entry_of(piece).dim);
    }
    BOOST_TEST(narrowest >= widest);
    for (std::int32_t device = 0; device < kDevices; ++device) {
      const auto d = static_cast<std::size_t>(device);
      bool changed = false;
      for (std::size_t k = 0; k < 2; ++k) {
        if (move.changes[k].device != device) continue;
        changed = true;
        BOOST_TEST(plan.bytes()[d] <= cluster.memory_bytes);
        BOOST_TEST(plan.dim_sums()[d] == move.dims[k]);
        BOOST_TEST(plan.compute_ms()[d] == move.compute_ms[k], boost::test_tools::tolerance(1e-5f));
      }
      if (!changed) BOOST_TEST(plan.bytes()[d] == before[d]);
    }
    BOOST_TEST(covers(plan));
    cuts += plan.assignment().size() > start.size();
    for (auto edit = undo.rbegin(); edit != undo.rend(); ++edit) plan.apply(*edit);
    BOOST_TEST(plan.bytes() == before, boost::test_tools::per_element());
    for (std::size_t d = 0; d < costs.size(); ++d) {
      BOOST_TEST(plan.compute_ms()[d] == costs[d], boost::test_tools::tolerance(1e-5f));
    }
  }
  BOOST_TEST(drawn > 20);
  BOOST_TEST(cuts > 5);
}

BOOST_AUTO_TEST_CASE(like_widths_leave_nothing_to_deal) {
  Workload workload;
  for (int table = 0; table < 6; ++table) workload.tables.push_back(test::make_table(1000, 16));
  test::WidthEvaluator evaluator(workload, 2);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  LocalPlan plan({workload, test::make_cluster(2, 1 << 30)}, evaluator, catalog);
  Assignment start;
  for (std::int32_t table = 0; table < 6; ++table) start.push_back({catalog.whole(table), 0});
  plan.assign(start);
  PairDealer dealer(evaluator, 1 << 30);
  Rng rng(1);
  Move move;
  for (int draw = 0; draw < 20; ++draw) BOOST_TEST(!dealer.draw(plan, 0, rng, move));
}

BOOST_AUTO_TEST_CASE(walks_put_like_widths_together_where_that_is_cheaper) {
  Workload workload;
  for (int table = 0; table < 4; ++table) workload.tables.push_back(test::make_table(1000, 64));
  for (int table = 0; table < 12; ++table) workload.tables.push_back(test::make_table(1000, 16));
  test::WidthEvaluator evaluator(workload, 2);
  const Problem problem(workload, test::make_cluster(2, 1 << 30));
  const ShapeCatalog catalog(space_of(workload), evaluator);
  Assignment mixed;  // two wide ones and six narrow ones on each: 24
  for (std::int32_t table = 0; table < 16; ++table) {
    mixed.push_back({catalog.whole(table), table % 2});
  }
  LocalWalk walk(problem, evaluator, catalog);
  BOOST_TEST(walk.cost(mixed) == 24);
  WalkOptions options = default_walk(2);
  options.budget = 2000;
  const WalkResult found =
      walk.run(mixed, options, walk.probe(mixed), Rng(1), [&](std::int64_t candidates) {
        return static_cast<double>(candidates) / static_cast<double>(options.budget);
      });
  // The wide ones on one device and the narrow ones on the other cost 12; in halves they are
  // narrow.
  BOOST_TEST(found.cost == 10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
