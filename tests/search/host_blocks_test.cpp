// Columns in even blocks of rows over the devices of one host: TorchRec's table_row_wise and
// grid_shard.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "engine/core/plan_check.h"
#include "search/bounds/lower_bound.h"
#include "search/local/join.h"
#include "search/local/load_placer.h"
#include "search/local/plan_pieces.h"
#include "search/local/random_layout.h"
#include "search/local/relayout_walk.h"
#include "search/plan_cost.h"
#include "search/refine/cheapest_divisions.h"
#include "search/refine/fast_row_plan.h"
#include "search/refine/refine.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(host_blocks)

namespace {

using test::fits;

const StopCheck kNoLimit{{}};
constexpr std::int32_t kDevices = 8;
constexpr std::int32_t kOfHost = 4;
constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

/// Additive costs under which a block over a host costs a third of what its share of the table
/// would, as where links between hosts are slow.
class CheapHosts : public test::TableEvaluator {
 public:
  using TableEvaluator::TableEvaluator;

  ShapeId intern(const ShardShape& shape) override {
    ShardShape seen = shape;
    if (shape.row_blocks == kOfHost) seen.rows = std::max<std::int64_t>(1, shape.rows / 3);
    return TableEvaluator::intern(seen);
  }
};

/// Whether each table is in columns, in blocks over all devices, or in columns each over a host.
bool as_torchrec_has_it(const Workload& workload, const Plan& plan) {
  const std::vector<ShardShape> shapes = shapes_of(plan);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Shard& shard = plan.shards[k];
    if (!has_part_of_rows(workload, shard)) continue;
    const std::int32_t blocks = shapes[k].row_blocks;
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    if (blocks != kDevices && blocks != kOfHost) return false;
    if (shard.row_begin != (table.rows + blocks - 1) / blocks * (shard.device % blocks)) {
      return false;
    }
    for (const Shard& other : plan.shards) {
      if (other.table != shard.table) continue;
      if (!has_part_of_rows(workload, other)) return false;
      if (other.column_begin == shard.column_begin &&
          other.device / blocks != shard.device / blocks) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(plans_and_pieces_say_the_same) {
  Workload workload;
  workload.tables = {test::make_table(10, 16), test::make_table(100, 16), test::make_table(3, 8)};
  test::TableEvaluator evaluator(workload, kDevices, {1, 1, 1});
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, 1, kOfHost});
  BOOST_TEST(catalog.host_block(2) == kNoEntry);  // fewer rows than a host has devices
  const EntryId all = catalog.host_block(0);
  BOOST_TEST(catalog.entry(all).rows == 3);
  BOOST_TEST(catalog.holders(all) == kOfHost);
  BOOST_TEST(catalog.holders(catalog.block(1)) == kDevices);
  const EntryId half = catalog.entry(all).first;
  BOOST_REQUIRE(half == catalog.entry(all).rest);
  BOOST_TEST(catalog.entry(half).dim == 8);
  BOOST_TEST(catalog.joined(half, half) == kNoEntry);  // blocks stay as they are

  Assignment assignment{{catalog.whole(1), 2}, {catalog.whole(2), 2}};
  for (std::int32_t rank = 0; rank < kOfHost; ++rank) {  // both halves on the second host
    assignment.push_back({half, kOfHost + rank});
    assignment.push_back({half, kDevices - 1 - rank});
  }
  const Plan plan = plan_of(assignment, workload, catalog, kDevices);
  BOOST_REQUIRE(validate(workload, plan).ok());
  BOOST_TEST(as_torchrec_has_it(workload, plan));
  BOOST_TEST((plan.shards[0] == Shard{0, 0, 3, 0, 8, 4}));
  BOOST_TEST((plan.shards[1] == Shard{0, 0, 3, 8, 16, 4}));
  BOOST_TEST((plan.shards[6] == Shard{0, 9, 10, 0, 8, 7}));
  const std::vector<Placed> back = pieces_of(plan, workload, catalog);
  BOOST_REQUIRE(back.size() == assignment.size());
  BOOST_TEST(back[6].entry == half);  // the last block counts as one of the others
  BOOST_TEST((plan_of(back, workload, catalog, kDevices) == plan));
  const ShapeCatalog flat(space_of(workload), evaluator, {kDevices, 1});
  BOOST_TEST(pieces_of(plan, workload, flat).empty());
}

BOOST_AUTO_TEST_CASE(placing_gives_each_device_of_the_least_loaded_host_a_block) {
  Workload workload;
  workload.tables = {test::make_table(400, 8), test::make_table(40, 8), test::make_table(40, 8),
                     test::make_table(10, 4)};
  test::TableEvaluator evaluator(workload, kDevices, {40, 12, 8, 1});
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, 1, kOfHost});
  const std::vector<EntryId> pieces{catalog.whole(3), catalog.host_block(2), catalog.block(0),
                                    catalog.host_block(1)};
  LoadPlacer placer({workload, test::make_cluster(kDevices, kPlenty)}, evaluator, catalog);
  BOOST_REQUIRE(placer.place(pieces, {}));
  const Plan plan = plan_of(placer.assignment(), workload, catalog, kDevices);
  BOOST_TEST(validate(workload, plan).ok());
  BOOST_TEST(as_torchrec_has_it(workload, plan));
  const std::vector<float> expected{8, 8, 8, 8, 8, 7, 7, 7};
  BOOST_TEST(placer.compute_ms() == expected, boost::test_tools::per_element());
  // Room for one of the two on a host beside the blocks of all devices: one each. Else for none.
  const std::int64_t blocks = 50 * 8 * 4 + 10 * 8 * 4;
  LoadPlacer tight({workload, test::make_cluster(kDevices, blocks + 160)}, evaluator, catalog);
  BOOST_TEST(tight.place(pieces, {}));
  LoadPlacer tighter({workload, test::make_cluster(kDevices, blocks - 1)}, evaluator, catalog);
  BOOST_TEST(!tighter.place(pieces, {}));
}

BOOST_AUTO_TEST_CASE(hosts_count_with_what_is_bound_to_their_devices) {
  Workload workload;
  workload.tables = {test::make_table(40, 8), test::make_table(40, 8), test::make_table(40, 8)};
  workload.tables[0].devices = DeviceSet({5});
  test::TableEvaluator evaluator(workload, kDevices, {20, 12, 8});
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, 1, kOfHost});
  const std::vector<EntryId> pieces{catalog.whole(0), catalog.host_block(1), catalog.host_block(2)};
  // Both blocks on the host without: by load and, where the table fills its device, by memory.
  for (const std::int64_t memory : {kPlenty, std::int64_t{40 * 8 * 4}}) {
    LoadPlacer placer({workload, test::make_cluster(kDevices, memory)}, evaluator, catalog);
    BOOST_REQUIRE(placer.place(pieces, {}));
    const std::vector<float> expected{5, 5, 5, 5, 0, 20, 0, 0};
    BOOST_TEST(placer.compute_ms() == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(what_may_go_elsewhere_leaves_blocks_their_only_host) {
  // 1,280 bytes on device 3 or 5, and 704 on each of the first host's.
  Workload workload;
  workload.tables = {test::make_table(40, 8), test::make_table(88, 8)};
  workload.tables[0].devices = DeviceSet({3, 5});
  workload.tables[1].devices = DeviceSet({0, 1, 2, 3});
  test::TableEvaluator evaluator(workload, kDevices, {20, 12});
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, 1, kOfHost});
  const std::vector<EntryId> pieces{catalog.whole(0), catalog.host_block(1)};
  LoadPlacer placer({workload, test::make_cluster(kDevices, 40 * 8 * 4)}, evaluator, catalog);
  BOOST_REQUIRE(placer.place(pieces, {}));
  BOOST_TEST(placer.assignment()[0].device == 5);
}

BOOST_AUTO_TEST_CASE(blocks_of_one_row_keep_off_the_first_host) {
  Rng rng(4);
  const Workload workload{{test::make_table(kOfHost, 4)}};
  CheapHosts evaluator(workload, kDevices, {1});
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, 1, kOfHost});
  const EntryId all = catalog.host_block(0);
  const Problem problem{workload, test::make_cluster(kDevices, kPlenty)};
  LoadPlacer placer(problem, evaluator, catalog);
  BOOST_REQUIRE(placer.place(std::vector{all}, {}));
  BOOST_TEST(placer.assignment()[0].device == kOfHost);
  for (int step = 0; step < 100; ++step) {
    BOOST_TEST(random_place(catalog, all, kDevices, rng) == kOfHost);
  }
  const auto never = [](std::int64_t) { return 0.0; };
  const WalkResult found =
      RelayoutWalk(problem, evaluator, catalog).run({{catalog.whole(0), 0}}, 500, Rng(1), never);
  BOOST_TEST(found.best[0].entry == all);
  BOOST_TEST(found.best[0].device == kOfHost);
}

BOOST_AUTO_TEST_CASE(tables_go_over_hosts_where_that_costs_the_devices_less) {
  Workload workload;
  workload.tables = {test::make_table(1200, 64), test::make_table(1200, 4), test::make_table(3, 4)};
  CheapHosts evaluator(workload, kDevices, {24, 6, 1}, 0.5);
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, 1, kOfHost});
  // 24.5 whole; 10 in four blocks; 28 in eight. 6.5, 4 and 10. 1.5.
  const auto cheapest = cheapest_divisions({100}, evaluator, catalog);
  BOOST_TEST(
      (cheapest == std::vector<Division>{Division::kHosts, Division::kHosts, Division::kColumns}));
  BOOST_TEST(least_balanced_load(kDevices, evaluator, catalog) == (10 + 4 + 1.5) / kDevices,
             boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(refine_uses_hosts_and_stays_above_the_bound) {
  Rng rng(3);
  for (int round = 0; round < 12; ++round) {
    Workload workload = test::many_tables(rng, round % 2 == 0 ? 5 : 30);
    workload.tables[0].rows = 3;  // for no host
    std::vector<float> costs;
    for (std::size_t k = 0; k < workload.tables.size(); ++k) {
      costs.push_back(static_cast<float>(1 + 20 * rng.uniform()));
    }
    CheapHosts evaluator(workload, kDevices, costs, 0.1F);
    const Cluster cluster = test::cluster_with_room(workload, kDevices, round < 6 ? 1.3 : 5);
    SearchOptions options;
    options.row_splits = RowSplits::kEven;
    options.row_parts = kDevices;
    options.evaluations = 3000;
    const auto flat = shard_refine({workload, cluster}, evaluator, options);
    options.devices_per_host = kOfHost;
    const auto found = shard_refine({workload, cluster}, evaluator, options);
    BOOST_REQUIRE(flat.ok());
    BOOST_REQUIRE(found.ok());
    BOOST_TEST(fits(workload, found->plan, cluster));
    BOOST_TEST(as_torchrec_has_it(workload, found->plan));
    const double cost = plan_cost(found->plan, evaluator);
    BOOST_TEST(cost <= plan_cost(flat->plan, evaluator) * 1.05);
    const RowShapes rows = row_shapes(options, kDevices);
    const auto bound = lower_bound({workload, cluster}, evaluator, rows);
    BOOST_REQUIRE(bound.has_value());
    BOOST_TEST(*bound <= cost);
    BOOST_TEST(*bound <= *lower_bound({workload, cluster}, evaluator, {kDevices, 1}));
    if (round >= 6) BOOST_TEST(cost < 0.8 * plan_cost(flat->plan, evaluator));
  }
}

BOOST_AUTO_TEST_CASE(parts_of_rows_on_any_devices_are_not_taken_for_a_hosts_blocks) {
  // Eighths as large as the blocks of a host, some of them on the device that a block would be on.
  Workload workload;
  workload.tables = {test::make_table(80 * kOfHost, 16)};
  test::TableEvaluator evaluator(workload, 4 * kOfHost, {1});
  RowShapes rows;
  rows.host = kOfHost;
  rows.halves = 4 * kOfHost;
  const ShapeCatalog catalog(space_of(workload), evaluator, rows);
  Rng rng(21);
  for (int trial = 0; trial < 100; ++trial) {
    Plan plan{4 * kOfHost, {}};
    for (std::int32_t part = 0; part < kOfHost; ++part) {
      const auto device = static_cast<std::int32_t>(rng.below(4)) * kOfHost + part;
      plan.shards.push_back({0, 80 * part, 80 * (part + 1), 0, 16, device});
    }
    canonicalize(plan);
    const Assignment pieces = pieces_of(plan, workload, catalog);
    BOOST_REQUIRE(pieces.size() == static_cast<std::size_t>(kOfHost));
    BOOST_TEST(validate(workload, plan_of(pieces, workload, catalog, plan.devices)).message() ==
               "");
  }
}

BOOST_AUTO_TEST_CASE(columns_of_a_table_on_one_host_are_joined) {
  Workload workload;
  workload.tables = {test::make_table(100, 32), test::make_table(100, 8)};
  CheapHosts evaluator(workload, kDevices, {8, 1}, 0.5F);  // each shard costs something
  const Cluster cluster = test::make_cluster(kDevices, kPlenty);
  const Problem problem{workload, cluster};
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, 1, kOfHost});
  const EntryId half = catalog.entry(catalog.host_block(0)).first;
  const EntryId quarter = catalog.entry(half).first;
  Assignment pieces{{catalog.whole(1), 5}};
  for (std::int32_t device = 0; device < kOfHost; ++device) {  // half and a quarter on one host
    for (const EntryId entry : {quarter, half}) pieces.push_back({entry, device});
    pieces.push_back({quarter, kOfHost + device});
  }
  const auto never = [] { return false; };
  const Assignment apart = join_pieces(pieces, problem, evaluator, catalog, never);
  const Plan before = plan_of(apart, workload, catalog, kDevices);
  BOOST_TEST((before == plan_of(pieces, workload, catalog, kDevices)));  // 24 columns are no size
  for (Placed& piece : pieces) {
    if (piece.entry == quarter && piece.device >= kOfHost) piece.device -= kOfHost;
  }
  const Assignment joined = join_pieces(pieces, problem, evaluator, catalog, never);
  const Plan plan = plan_of(joined, workload, catalog, kDevices);
  BOOST_TEST(validate(workload, plan).ok());
  BOOST_TEST(plan.shards.size() == kOfHost + 1u);  // the whole table over the first host
  BOOST_TEST(as_torchrec_has_it(workload, plan));
  BOOST_TEST(plan_cost(plan, evaluator) <
             plan_cost(plan_of(pieces, workload, catalog, kDevices), evaluator));
}

BOOST_AUTO_TEST_CASE(refine_deals_tables_out_to_hosts_that_fit_in_no_other_way) {
  // Of 10 rows in blocks of 2 some devices would have none, but blocks of 3 suit a host.
  Workload workload;
  workload.tables = {test::make_table(5, 4), test::make_table(10, 4)};
  test::TableEvaluator evaluator(workload, kDevices, {1, 1});
  const Cluster cluster = test::make_cluster(kDevices, 9 * 16);
  SearchOptions options;
  options.row_splits = RowSplits::kEven;
  options.row_parts = kDevices;
  options.evaluations = 100;
  BOOST_TEST(!shard_refine({workload, cluster}, evaluator, options).ok());
  options.devices_per_host = kOfHost;
  const auto found = shard_refine({workload, cluster}, evaluator, options);
  BOOST_REQUIRE(found.ok());
  BOOST_TEST(fits(workload, found->plan, cluster));
  BOOST_TEST(as_torchrec_has_it(workload, found->plan));
}

BOOST_AUTO_TEST_CASE(tables_with_another_layout_are_whole_again) {
  Rng rng(9);
  const Workload workload = test::many_tables(rng, 6);
  CheapHosts evaluator(workload, kDevices, std::vector<float>(6, 3.0F), 0.1F);
  const Cluster cluster = test::make_cluster(kDevices, kPlenty);
  const Problem problem{workload, cluster};
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, 1, kOfHost});
  Assignment pieces;
  for (std::int32_t table = 0; table < 6; ++table) pieces.push_back({catalog.whole(table), table});
  RelayoutWalk walk(problem, evaluator, catalog);
  const auto never = [](std::int64_t) { return 0.0; };
  const WalkResult found = walk.run(pieces, 3000, Rng(1), never);
  const Plan plan = plan_of(found.best, workload, catalog, kDevices);
  BOOST_TEST(validate(workload, plan).ok());
  BOOST_TEST(as_torchrec_has_it(workload, plan));
  BOOST_TEST(std::any_of(found.best.begin(), found.best.end(), [&](const Placed& piece) {
    return piece.device != kNoDevice && catalog.entry(piece.entry).spread == Spread::kHost;
  }));
  BOOST_TEST(found.cost == plan_cost(plan, evaluator), boost::test_tools::tolerance(1e-5));
}

/// Quarters of 21 rows are of 6, 5, 5 and 5; a host's blocks of 6, 6, 6 and 3. On one host in order
/// the first quarter is the first block.
BOOST_AUTO_TEST_CASE(halves_of_halves_on_a_host_are_no_blocks_of_it) {
  Workload workload;
  workload.tables.resize(1);
  workload.tables[0].rows = 21;
  workload.tables[0].dim = 8;
  CheapHosts evaluator(workload, kDevices, {1});
  const ShapeCatalog catalog(space_of(workload), evaluator, {kDevices, kDevices, kOfHost});
  const auto in_rows = [](const std::vector<std::int64_t>& ends) {
    Plan plan{kDevices, {}};
    std::int64_t begin = 0;
    for (const std::int64_t end : ends) {
      const auto device = static_cast<std::int32_t>(plan.shards.size());
      plan.shards.push_back({0, begin, end, 0, 8, device});
      begin = end;
    }
    return plan;
  };
  for (const bool blocks : {false, true}) {
    const Plan plan = in_rows(blocks ? std::vector<std::int64_t>{6, 12, 18, 21}
                                     : std::vector<std::int64_t>{6, 11, 16, 21});
    const Assignment pieces = pieces_of(plan, workload, catalog);
    BOOST_REQUIRE(pieces.size() == 4U);
    for (const Placed& piece : pieces) {
      BOOST_TEST((catalog.entry(piece.entry).spread == Spread::kHost) == blocks);
    }
    const Plan back = plan_of(pieces, workload, catalog, kDevices);
    if (blocks) BOOST_TEST((back == plan));
    // Halves are known as such: other devices have the same rows, so that nobody takes them for
    // the blocks that they nearly are.
    for (const ShardShape& shape : shapes_of(back)) BOOST_TEST(shape.in_order == blocks);
    for (const Shard& shard : back.shards) {
      const auto device = static_cast<std::size_t>(shard.device);
      BOOST_TEST(shard.rows() == plan.shards[device].rows());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
