// What the local search keeps of a plan, against the same worked out from nothing, through
// thousands of random changes.
#include "search/local/local_plan.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/core/plan_check.h"
#include "search/local/max_tree.h"
#include "search/local/moves.h"
#include "search/local/plan_pieces.h"
#include "search/local/sum_tree.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
namespace {

/// Whole tables on random devices.
Assignment random_assignment(Rng& rng, const ShapeCatalog& catalog, std::int32_t devices) {
  Assignment assignment;
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    const auto device = rng.below(static_cast<std::uint64_t>(devices));
    assignment.push_back({catalog.whole(table), static_cast<std::int32_t>(device)});
  }
  return assignment;
}

/// Costs, dims and bytes of every device, added up from its pieces one by one.
void check_against_scratch(const LocalPlan& plan, const PlanEvaluator& evaluator) {
  const auto devices = static_cast<std::size_t>(plan.devices());
  std::vector<std::int64_t> dims(devices);
  std::vector<std::int64_t> bytes(devices);
  std::vector<float> compute(devices, evaluator.empty_cost());
  AlignedVector<float> states(devices * evaluator.state_size());
  for (std::size_t d = 0; d < devices; ++d) {
    evaluator.clear(states.data() + d * evaluator.state_size());
  }
  std::vector<std::size_t> pieces(devices);
  for (const Placed& piece : plan.assignment()) {
    if (piece.device == kNoDevice) continue;
    const auto d = static_cast<std::size_t>(piece.device);
    const CatalogEntry& entry = plan.catalog().entry(piece.entry);
    dims[d] += entry.dim;
    bytes[d] += entry.bytes;
    compute[d] = evaluator.place(entry.shape, states.data() + d * evaluator.state_size());
    ++pieces[d];
  }
  for (std::size_t d = 0; d < devices; ++d) {
    BOOST_REQUIRE(plan.dim_sums()[d] == dims[d]);
    BOOST_REQUIRE(plan.bytes()[d] == bytes[d]);
    BOOST_REQUIRE(plan.pieces_on(static_cast<std::int32_t>(d)).size() == pieces[d]);
    BOOST_REQUIRE_SMALL(plan.compute_ms()[d] - compute[d], 1e-5f * (1 + compute[d]));
  }
}

void check_lists(const LocalPlan& plan) {
  const Assignment assignment = plan.assignment();
  std::size_t split = 0;
  for (std::int32_t table = 0; table < plan.catalog().tables(); ++table) {
    std::int64_t cells = 0;
    for (const std::int32_t piece : plan.pieces_of(table)) {
      BOOST_REQUIRE(plan.entry_of(piece).table == table);
      cells += plan.entry_of(piece).rows * plan.entry_of(piece).dim;
    }
    const CatalogEntry& whole = plan.catalog().entry(plan.catalog().whole(table));
    BOOST_REQUIRE(cells == whole.rows * whole.dim);
    split += plan.pieces_of(table).size() > 1;
  }
  BOOST_REQUIRE(plan.split_tables().size() == split);
  for (const std::int32_t table : plan.split_tables()) {
    BOOST_REQUIRE(plan.pieces_of(table).size() > 1);
  }
}

std::vector<Placed> in_use(const Assignment& assignment) {
  std::vector<Placed> pieces;
  for (const Placed& piece : assignment) {
    if (piece.device != kNoDevice) pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(local_plan)

BOOST_AUTO_TEST_CASE(a_sum_tree_sums_what_is_in_it_and_never_drifts) {
  Rng rng(1);
  constexpr std::size_t kWidth = 16;
  const std::vector<float> zeros(kWidth, 0.0f);
  std::vector<std::vector<float>> addends(40, std::vector<float>(kWidth));
  for (auto& addend : addends) {
    for (float& value : addend) value = static_cast<float>(rng.normal());
  }
  std::vector<const float*> slots(40, nullptr);
  SumTree tree;
  tree.reset(kWidth, zeros.data());
  for (int step = 0; step < 3000; ++step) {
    const std::size_t slot = rng.below(step < 100 ? 5 : slots.size());
    slots[slot] = rng.below(3) == 0 ? nullptr : addends[rng.below(addends.size())].data();
    tree.set(slot, slots[slot]);
  }
  tree.set(39, slots[39] = addends[0].data());
  SumTree fresh;
  fresh.reset(kWidth, zeros.data());
  for (std::size_t slot = 0; slot < slots.size(); ++slot) fresh.set(slot, slots[slot]);
  for (std::size_t k = 0; k < kWidth; ++k) BOOST_TEST(tree.sum()[k] == fresh.sum()[k]);
  for (int round = 0; round < 500; ++round) {
    const std::size_t one = rng.below(slots.size());
    const std::size_t other = rng.below(3) == 0 ? one : rng.below(slots.size());
    const float* parts[SumTree::kMaxParts];
    const int count = tree.parts_without(one, other, parts);
    for (std::size_t k = 0; k < kWidth; ++k) {
      double found = 0;
      double expected = 0;
      for (int part = 0; part < count; ++part) found += parts[part][k];
      for (std::size_t slot = 0; slot < slots.size(); ++slot) {
        if (slot != one && slot != other && slots[slot] != nullptr) expected += slots[slot][k];
      }
      BOOST_REQUIRE_SMALL(found - expected, 1e-4);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_max_tree_knows_the_maximum_without_any_two) {
  Rng rng(2);
  for (const std::size_t count : {1u, 2u, 3u, 8u, 21u}) {
    std::vector<double> values(count);
    for (double& value : values) value = static_cast<double>(rng.between(-5, 5));
    MaxTree tree;
    tree.reset(values);
    for (int step = 0; step < 300; ++step) {
      const auto index = static_cast<std::int32_t>(rng.below(count));
      values[static_cast<std::size_t>(index)] = static_cast<double>(rng.between(-5, 5));
      tree.set(index, values[static_cast<std::size_t>(index)]);
      const auto largest = std::max_element(values.begin(), values.end());
      BOOST_REQUIRE(tree.max() == *largest);
      BOOST_REQUIRE(tree.argmax() == largest - values.begin());
      const auto other = static_cast<std::int32_t>(rng.below(count));
      double expected = -std::numeric_limits<double>::infinity();
      for (std::int32_t k = 0; k < static_cast<std::int32_t>(count); ++k) {
        if (k == index || k == other) continue;
        expected = std::max(expected, values[static_cast<std::size_t>(k)]);
      }
      BOOST_REQUIRE(tree.max_without(index, other) == expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_maximum_is_one_of_the_values_whatever_they_are) {
  MaxTree tree;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    tree.reset(std::vector<double>(5, value));
    BOOST_TEST(tree.argmax() < 5);
  }
}

BOOST_AUTO_TEST_CASE(incremental_costs_are_full_costs_after_thousands_of_moves) {
  Rng rng(3);
  for (int round = 0; round < 12; ++round) {
    const Workload workload = test::many_tables(rng, 30);
    const auto devices = static_cast<std::int32_t>(rng.between(2, 6));
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, devices);
    const Cluster cluster = test::make_cluster(devices, std::int64_t{1} << 40);
    const ShapeCatalog catalog(space_of(workload), evaluator,
                               {0, round % 2 == 0 ? 1 : 16});  // rows, too
    LocalPlan plan({workload, cluster}, evaluator, catalog);
    plan.assign(random_assignment(rng, catalog, devices));
    const MoveSource source({}, cluster.memory_bytes, evaluator.devices_alike());
    Move move;
    int made = 0;
    for (int step = 0; step < 4000; ++step) {
      if (!source.draw(plan, 0, rng, move)) continue;
      ++made;
      for (int k = 0; k < move.edit_count; ++k) plan.apply(move.edits[static_cast<std::size_t>(k)]);
      for (std::size_t k = 0; k < 2; ++k) {
        if (move.changes[k].device == kNoDevice) continue;
        // What the move said it would cost is what it costs.
        const auto d = static_cast<std::size_t>(move.changes[k].device);
        const float found = plan.compute_ms()[d];
        BOOST_REQUIRE_SMALL(found - move.compute_ms[k], 1e-5f * (1 + found));
        BOOST_REQUIRE(plan.dim_sums()[d] == move.dims[k]);
      }
      if (step % 50 == 0) {
        check_against_scratch(plan, evaluator);
        check_lists(plan);
      }
    }
    BOOST_TEST(made > 1000);
    check_against_scratch(plan, evaluator);
    const Plan shards = plan_of(plan.assignment(), workload, catalog, devices);
    BOOST_TEST(validate(workload, shards).ok());
  }
}

BOOST_AUTO_TEST_CASE(edits_are_taken_back) {
  Rng rng(4);
  const Workload workload = test::many_tables(rng, 20);
  test::FusedEvaluator evaluator(workload, 3, std::vector<float>(20, 2.0f), 0.5, false);
  const Cluster cluster = test::make_cluster(3, std::int64_t{1} << 40);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  LocalPlan plan({workload, cluster}, evaluator, catalog);
  plan.assign(random_assignment(rng, catalog, 3));
  const MoveSource source({}, cluster.memory_bytes, false);
  for (int round = 0; round < 100; ++round) {
    const std::vector<Placed> before = in_use(plan.assignment());
    std::vector<Edit> journal;
    Move move;
    for (int step = 0; step < 30; ++step) {
      if (!source.draw(plan, 1, rng, move)) continue;
      for (int k = 0; k < move.edit_count; ++k) {
        journal.push_back(plan.apply(move.edits[static_cast<std::size_t>(k)]));
      }
    }
    Assignment bare = plan.assignment();
    for (auto undo = journal.rbegin(); undo != journal.rend(); ++undo) take_back(*undo, bare);
    BOOST_TEST((in_use(bare) == before));
    if (round % 2 == 0) continue;  // else go on from there: the pieces get about
    for (auto undo = journal.rbegin(); undo != journal.rend(); ++undo) plan.apply(*undo);
    BOOST_TEST((in_use(plan.assignment()) == before));
    check_against_scratch(plan, evaluator);
    check_lists(plan);
  }
}

BOOST_AUTO_TEST_CASE(moves_keep_to_the_memory) {
  Rng rng(5);
  const Workload workload = test::many_tables(rng, 24);
  test::FusedEvaluator evaluator(workload, 4, std::vector<float>(24, 2.0f), 0, true);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  const Assignment start = random_assignment(rng, catalog, 4);
  Cluster cluster = test::make_cluster(4, 1);
  LocalPlan plan({workload, cluster}, evaluator, catalog);
  plan.assign(start);
  cluster.memory_bytes = *std::max_element(plan.bytes().begin(), plan.bytes().end());
  const MoveSource source({}, cluster.memory_bytes, true);
  Move move;
  for (int step = 0; step < 3000; ++step) {
    if (!source.draw(plan, 2, rng, move)) continue;
    for (int k = 0; k < move.edit_count; ++k) plan.apply(move.edits[static_cast<std::size_t>(k)]);
    for (const std::int64_t bytes : plan.bytes()) BOOST_REQUIRE(bytes <= cluster.memory_bytes);
  }
}

BOOST_AUTO_TEST_CASE(a_plan_survives_the_way_there_and_back) {
  Workload workload;
  workload.tables = {test::make_table(10, 10), test::make_table(20, 64)};
  test::TableEvaluator evaluator(workload, 2, {1, 2});
  const ShapeCatalog catalog(space_of(workload), evaluator);
  // 10 columns go 4 + 6, which is no multiple of 4 and comes last whatever its number.
  const EntryId wide = catalog.find(0, 10, 6);
  const EntryId narrow = catalog.find(0, 10, 4);
  BOOST_REQUIRE((wide != kNoEntry && narrow != kNoEntry));
  BOOST_TEST(catalog.find(0, 10, 5) == kNoEntry);
  const Assignment assignment{{wide, 1}, {catalog.whole(1), 0}, {narrow, 0}};
  const Plan plan = plan_of(assignment, workload, catalog, 2);
  BOOST_REQUIRE(validate(workload, plan).ok());
  BOOST_TEST(plan.shards[0].column_end == 4);
  BOOST_TEST(plan.shards[0].device == 0);
  BOOST_TEST(pieces_of(plan, workload, catalog).size() == 3u);
  Plan rows = plan;
  rows.shards[2].row_end = 5;
  BOOST_TEST(pieces_of(rows, workload, catalog).empty());
}

BOOST_AUTO_TEST_CASE(row_pieces_survive_the_way_there_and_back) {
  Workload workload;
  workload.tables = {test::make_table(10, 8), test::make_table(7, 64), test::make_table(2, 8)};
  test::TableEvaluator evaluator(workload, 3, {1, 2, 1});
  const ShapeCatalog catalog(space_of(workload), evaluator, {3, 4});
  // 10 rows are 5 + 5 and those 3 + 2; on 3 devices 4, 4 and 2. 2 rows are too few for 3 devices.
  const EntryId half = catalog.find(0, 5, 8);
  BOOST_REQUIRE(half != kNoEntry);
  BOOST_TEST(catalog.entry(catalog.entry(half).upper).rows == 3);
  BOOST_TEST(catalog.entry(catalog.entry(half).lower).rows == 2);
  BOOST_TEST(catalog.entry(catalog.entry(half).upper).upper == kNoEntry);
  BOOST_TEST(catalog.entry(half).first == kNoEntry);  // rows or columns, never both
  BOOST_TEST(catalog.joined(catalog.entry(half).upper, catalog.entry(half).lower) == half);
  BOOST_TEST(catalog.joined(half, half) == catalog.whole(0));
  BOOST_TEST(catalog.entry(catalog.block(0)).rows == 4);
  BOOST_TEST(catalog.joined(catalog.block(0), catalog.block(0)) == kNoEntry);
  BOOST_TEST(catalog.block(2) == kNoEntry);
  const EntryId block = catalog.block(1);
  const Assignment assignment{{half, 1}, {catalog.whole(2), 0}, {block, 0}, {block, 2}, {block, 1},
                              {half, 2}};
  const Plan plan = plan_of(assignment, workload, catalog, 3);
  BOOST_REQUIRE(validate(workload, plan).ok());
  BOOST_REQUIRE(plan.shards.size() == 6u);
  BOOST_TEST((plan.shards[1] == Shard{0, 5, 10, 0, 8, 2}));
  BOOST_TEST((plan.shards[2] == Shard{1, 0, 3, 0, 64, 0}));
  BOOST_TEST((plan.shards[4] == Shard{1, 6, 7, 0, 64, 2}));
  Assignment back = pieces_of(plan, workload, catalog);
  BOOST_REQUIRE(back.size() == 6u);
  BOOST_TEST((plan_of(back, workload, catalog, 3) == plan));
  BOOST_TEST(back[2].entry == block);
  // A catalog without rows knows no piece of such a plan.
  const ShapeCatalog columns(space_of(workload), evaluator);
  BOOST_TEST(pieces_of(plan, workload, columns).empty());
}

BOOST_AUTO_TEST_CASE(blocks_of_all_devices_stay_where_they_are) {
  Rng rng(6);
  const Workload workload = test::many_tables(rng, 12);
  test::FusedEvaluator evaluator(workload, 4, std::vector<float>(12, 2.0f), 0.5, false);
  const Cluster cluster = test::make_cluster(4, std::int64_t{1} << 40);
  const ShapeCatalog catalog(space_of(workload), evaluator, {4, 8});
  const std::int32_t tables[] = {3, 7};
  Assignment start = random_assignment(rng, catalog, 4);
  for (const std::int32_t table : tables) {
    std::erase_if(start, [&](const Placed& piece) {
      return piece.device != kNoDevice && catalog.entry(piece.entry).table == table;
    });
    for (std::int32_t device = 0; device < 4; ++device) {
      start.push_back({catalog.block(table), device});
    }
  }
  LocalPlan plan({workload, cluster}, evaluator, catalog);
  plan.assign(start);
  const MoveSource source({}, cluster.memory_bytes, false);
  Move move;
  for (int step = 0; step < 4000; ++step) {
    if (!source.draw(plan, 0, rng, move)) continue;
    for (int k = 0; k < move.edit_count; ++k) plan.apply(move.edits[static_cast<std::size_t>(k)]);
  }
  for (const std::int32_t table : tables) {
    std::vector<int> blocks(4);
    for (const std::int32_t piece : plan.pieces_of(table)) {
      BOOST_TEST(plan.placed(piece).entry == catalog.block(table));
      ++blocks[static_cast<std::size_t>(plan.placed(piece).device)];
    }
    BOOST_TEST((blocks == std::vector<int>(4, 1)));
  }
  BOOST_TEST(validate(workload, plan_of(plan.assignment(), workload, catalog, 4)).ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
