// Tables whole on every device: TorchRec's data_parallel.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "engine/core/plan_check.h"
#include "search/bounds/lower_bound.h"
#include "search/local/load_placer.h"
#include "search/local/plan_pieces.h"
#include "search/plan_cost.h"
#include "search/refine/cheapest_divisions.h"
#include "search/refine/fast_row_plan.h"
#include "search/refine/refine.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(replicas)

namespace {

using test::fits;

constexpr std::int32_t kDevices = 4;
constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

/// Additive costs under which a replica costs each device a hundredth of its rows, whatever it
/// costs to look it up elsewhere.
class CheapReplicas : public test::TableEvaluator {
 public:
  CheapReplicas(const Workload& workload, std::vector<float> costs)
      : TableEvaluator(workload, kDevices, costs, 0.1F), costs_(std::move(costs)) {}

  ShapeId intern(const ShardShape& shape) override {
    if (!shape.replicated) return TableEvaluator::intern(shape);
    ShardShape seen = shape;  // so many rows of its table cost as much
    const float own = costs_[static_cast<std::size_t>(shape.table)];
    const double share = 0.01 * static_cast<double>(shape.rows) / own;
    seen.rows = static_cast<std::int64_t>(share * static_cast<double>(shape.rows));
    return TableEvaluator::intern(seen);
  }

 private:
  std::vector<float> costs_;
};

bool is_replica(const Shard& shard) { return shard.device == kEveryDevice; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_replica_is_one_shard_and_a_piece_on_every_device) {
  Workload workload;
  workload.tables = {test::make_table(10, 16), test::make_table(100, 16)};
  CheapReplicas evaluator(workload, {2, 1});
  const ShapeCatalog none(space_of(workload), evaluator, {});
  BOOST_TEST(none.replica(0) == kNoEntry);
  const ShapeCatalog catalog(space_of(workload), evaluator, {.replicas = kDevices});
  const EntryId replica = catalog.replica(0);
  BOOST_TEST(catalog.holders(replica) == kDevices);
  BOOST_TEST(catalog.entry(replica).bytes == 10 * 16 * 4);
  BOOST_TEST(catalog.find(0, 10, 16) == catalog.whole(0));

  LoadPlacer placer({workload, test::make_cluster(kDevices, kPlenty)}, evaluator, catalog);
  const std::vector<EntryId> pieces{catalog.whole(1), replica};
  BOOST_REQUIRE(placer.place(pieces, {}));
  const Plan plan = plan_of(placer.assignment(), workload, catalog, kDevices);
  BOOST_REQUIRE(validate(workload, plan).ok());
  BOOST_REQUIRE(plan.shards.size() == 2u);
  BOOST_TEST((plan.shards[0] == Shard{0, 0, 10, 0, 16, kEveryDevice}));
  const std::vector<Placed> back = pieces_of(plan, workload, catalog);
  BOOST_TEST(back.size() == 1u + kDevices);
  BOOST_TEST((plan_of(back, workload, catalog, kDevices) == plan));
  BOOST_TEST(pieces_of(plan, workload, none).empty());
  const std::span<const float> compute = placer.compute_ms();
  BOOST_TEST(plan_cost(plan, evaluator) == *std::max_element(compute.begin(), compute.end()),
             boost::test_tools::tolerance(1e-6));
  // Every device needs the memory.
  LoadPlacer tight({workload, test::make_cluster(kDevices, 10 * 16 * 4 - 1)}, evaluator, catalog);
  BOOST_TEST(!tight.place(std::vector<EntryId>{replica}, {}));
}

BOOST_AUTO_TEST_CASE(small_tables_are_replicated_where_that_costs_the_devices_less) {
  Workload workload;
  workload.tables = {test::make_table(10, 4), test::make_table(1000, 4), test::make_table(90, 4)};
  CheapReplicas evaluator(workload, {4, 20, 5});
  const ShapeCatalog catalog(space_of(workload), evaluator, {.replicas = kDevices});
  // Four times 0.1, 10.1 and 1 milliseconds, with what every shard costs, against 4.1, 20.1
  // and 5.1.
  const std::vector<Division> expected{Division::kReplicas, Division::kColumns,
                                       Division::kReplicas};
  BOOST_TEST((cheapest_divisions({100}, evaluator, catalog) == expected));
  const std::vector<Division> careful{Division::kReplicas, Division::kColumns, Division::kColumns};
  BOOST_TEST((cheapest_divisions({100, 2}, evaluator, catalog) == careful));
}

BOOST_AUTO_TEST_CASE(refine_replicates_only_where_it_may) {
  Rng rng(5);
  for (int round = 0; round < 10; ++round) {
    Workload workload = test::many_tables(rng, 12);
    std::vector<float> costs;
    for (std::size_t k = 0; k < workload.tables.size(); ++k) {
      if (k % 2 == 0) workload.tables[k].rows = rng.between(1, 40);
      costs.push_back(static_cast<float>(2 + 5 * rng.uniform()));
    }
    CheapReplicas evaluator(workload, costs);
    const Cluster cluster = test::cluster_with_room(workload, kDevices, round < 5 ? 1.3 : 5);
    SearchOptions options;
    options.row_splits = round % 2 == 0 ? RowSplits::kOff : RowSplits::kEven;
    options.row_parts = kDevices;
    options.evaluations = 3000;
    const auto single = shard_refine({workload, cluster}, evaluator, options);
    options.replicate = true;
    const auto found = shard_refine({workload, cluster}, evaluator, options);
    BOOST_REQUIRE(single.ok());
    BOOST_REQUIRE(found.ok());
    const std::vector<Shard>& shards = single->plan.shards;
    BOOST_TEST(std::none_of(shards.begin(), shards.end(), is_replica));
    const std::vector<Shard>& own = found->plan.shards;
    BOOST_TEST(std::any_of(own.begin(), own.end(), is_replica));
    BOOST_TEST(fits(workload, found->plan, cluster));
    const double cost = plan_cost(found->plan, evaluator);
    BOOST_TEST(cost < plan_cost(single->plan, evaluator));
    const auto bound = lower_bound({workload, cluster}, evaluator, row_shapes(options, kDevices));
    BOOST_REQUIRE(bound.has_value());
    BOOST_TEST(*bound <= cost);
  }
}

BOOST_AUTO_TEST_CASE(fast_plans_replicate_which_of_a_few_tables_no_rule_tells) {
  // Rules go by what tables cost the devices together; which of them level the devices, all ways
  // to replicate eight of them tell.
  constexpr unsigned kTables = 8;
  const StopCheck no_limit{{}};
  Rng rng(11);
  double excess = 0;
  int best_ones = 0;
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    Workload workload;
    std::vector<float> costs;
    for (unsigned k = 0; k < kTables; ++k) {
      workload.tables.push_back(test::make_table(rng.between(1, 200), 4));
      costs.push_back(static_cast<float>(1 + 5 * rng.uniform()));
    }
    CheapReplicas evaluator(workload, costs);
    const Problem problem{workload, test::make_cluster(kDevices, kPlenty)};
    const ShapeCatalog catalog(space_of(workload), evaluator, {.replicas = kDevices});
    double best = 1e9;
    std::optional<DividedPlan> first;
    for (unsigned chosen = 0; chosen < 1U << kTables; ++chosen) {
      std::vector<Division> divisions(kTables, Division::kColumns);
      for (unsigned k = 0; k < kTables; ++k) {
        if ((chosen >> k & 1U) != 0) divisions[k] = Division::kReplicas;
      }
      const auto plan = fast_plan(problem, evaluator, catalog, no_limit, divisions);
      BOOST_REQUIRE(plan.has_value());
      best = std::min(best, plan->cost);
      if (!first) first = {*plan, divisions};
    }
    const auto found = fast_row_plan(problem, evaluator, catalog, no_limit, kNoBudget, first);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->cost >= best);
    excess += found->cost / best - 1;
    best_ones += found->cost == best ? 1 : 0;
  }
  BOOST_TEST(excess / kRounds < 0.02);
  BOOST_TEST(best_ones >= kRounds * 3 / 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
