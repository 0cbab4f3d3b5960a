// What plans near one that runs are made of: pieces whose cells are known, and what they move.
#include "search/replan/moved_cells.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"
#include "search/local/moves.h"
#include "search/plan_cost.h"
#include "search/replan/partial_plan.h"
#include "search/replan/tidy.h"
#include "tests/search/fused_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(moved_cells)

namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 40;
constexpr std::int32_t kDevices = 3;

Plan whole_plan(const Workload& workload, const std::vector<std::int32_t>& devices) {
  Plan plan{kDevices, {}};
  for (std::size_t table = 0; table < devices.size(); ++table) {
    plan.shards.push_back(whole_table(workload, static_cast<std::int32_t>(table), devices[table]));
  }
  return plan;
}

/// Tables that cost a number each, wherever they are, on devices with plenty of memory.
struct Running {
  Workload workload;
  Plan plan;
  test::TableEvaluator evaluator;
  Cluster cluster = test::make_cluster(kDevices, kPlenty);
  Problem problem{workload, cluster};
  ShapeCatalog catalog;
  HeldCells held;
  MoveLimit limit;
  HostLoads hosts{problem, {}};
  RunningPlan now{problem, evaluator, catalog, plan, held, limit, hosts};

  Running(Workload tables, Plan running, std::vector<float> costs, float per_shard,
          std::int64_t bytes, const std::vector<ShardShape>& others = {})
      : workload(std::move(tables)),
        plan(std::move(running)),
        evaluator(workload, kDevices, std::move(costs), per_shard),
        catalog(
            ShapeCatalog::around(with(shapes_of(plan), others), false, problem.space, evaluator)),
        held(workload, plan),
        limit{.bytes = bytes} {}

  static std::vector<ShardShape> with(std::vector<ShardShape> shapes,
                                      const std::vector<ShardShape>& others) {
    shapes.insert(shapes.end(), others.begin(), others.end());
    return shapes;
  }

  Plan tidied(const CellPlan& start) {
    std::int64_t evaluations = 0;
    return plan_of(tidy(start, now, evaluations, [] { return false; }), catalog, kDevices);
  }
};

Workload tables_of(const std::vector<std::int64_t>& rows, std::int32_t dim) {
  Workload workload;
  for (const std::int64_t count : rows) workload.tables.push_back(test::make_table(count, dim));
  return workload;
}

}  // namespace

BOOST_AUTO_TEST_CASE(cells_and_bytes_are_those_counted_anew_after_any_moves) {
  Rng rng(1);
  for (int trial = 0; trial < 20; ++trial) {
    Workload workload = test::many_tables(rng, 8);
    for (Table& table : workload.tables) {
      if (rng.below(2) == 0) table.optimizer = Optimizer::kRowwiseAdagrad;
    }
    test::FusedEvaluator evaluator = test::random_fused(rng, workload, kDevices);
    Plan now = whole_plan(workload, {0, 0, 1, 1, 1, 2, 2, 2});
    for (Shard& shard : now.shards) {
      if (rng.below(2) == 0) shard.kernel = {ComputeKernel::kFusedUvm, 0};
    }
    const Cluster cluster = test::make_cluster(kDevices, kPlenty);
    Problem problem(workload, cluster);
    give_kernels(now, problem.space);
    const ShapeCatalog catalog =
        ShapeCatalog::around(shapes_of(now), false, problem.space, evaluator);
    const HeldCells held(workload, now);
    // Each device is a host, with memory for half as much again as is on the fullest.
    const std::vector<std::int64_t> loads = host_bytes(workload, now, 1);
    const std::int64_t host_memory = 3 * *std::max_element(loads.begin(), loads.end()) / 2;
    Cluster hosts_of = cluster;
    hosts_of.host_memory_bytes = host_memory;
    const HostLoads hosts({workload, hosts_of, problem.space}, {.devices_per_host = 1});
    MovedCells cells(held, catalog, workload_bytes(workload) / 2, hosts);
    LocalPlan plan(problem, evaluator, catalog);
    const CellPlan start = cells_of(now, catalog);
    plan.assign(start.pieces);
    cells.start(start, 0.5);
    const MoveSource source({}, kPlenty, true);
    std::vector<std::pair<Move, Edits>> made;  // since moves last stood
    int splits = 0;
    for (int step = 0; step < 400; ++step) {
      Move move;
      if (source.draw(plan, 0, rng, move)) {
        const double price = cells.price_ms(plan, move);
        if (std::isfinite(price)) {
          const double before = cells.weight_ms();
          cells.make();
          BOOST_TEST(cells.weight_ms() == before + price, boost::test_tools::tolerance(1e-12));
          made.emplace_back(move, make(plan, move));
        }
      }
      if (rng.below(8) == 0) {
        cells.stand(false);
        made.clear();
      } else if (rng.below(8) == 0) {
        cells.take_back();
        for (; !made.empty(); made.pop_back()) {
          take_back(plan, made.back().first, made.back().second);
        }
      }
      const Plan whole = plan_of({plan.assignment(), cells.cells()}, catalog, kDevices);
      BOOST_REQUIRE(validate(workload, whole).ok());
      BOOST_TEST(cells.moved_bytes() == moved_bytes(workload, now, whole));
      BOOST_TEST(cells.moved_bytes() <= workload_bytes(workload) / 2);
      splits += !plan.split_tables().empty();
      const std::vector<std::int64_t> on_hosts = host_bytes(workload, whole, 1);
      BOOST_TEST(*std::max_element(on_hosts.begin(), on_hosts.end()) <= host_memory);
    }
    BOOST_TEST(splits > 0);
  }
}

BOOST_AUTO_TEST_CASE(what_gains_nothing_is_sent_back) {
  const Workload workload = tables_of({1000, 100, 10}, 4);
  // The second table is the slowest device's; where the third is makes no difference.
  Running running(workload, whole_plan(workload, {0, 0, 1}), {1, 8, 1}, 0, kPlenty);
  CellPlan moved = cells_of(running.plan, running.catalog);
  moved.pieces[1].device = moved.cells[1].device = 2;
  moved.pieces[2].device = moved.cells[2].device = 0;
  const Plan tidied = running.tidied(moved);
  BOOST_TEST((tidied == whole_plan(workload, {0, 2, 1})));
}

BOOST_AUTO_TEST_CASE(neighbours_on_a_device_are_joined_where_that_is_no_dearer) {
  const Workload workload = tables_of({1000}, 16);
  const Plan halves{kDevices, {{0, 0, 1000, 0, 8, 1}, {0, 0, 1000, 8, 16, 1}}};
  for (const float per_shard : {1.0F, -1.0F}) {
    Running running(workload, halves, {8}, per_shard, kPlenty);
    const Plan tidied = running.tidied(cells_of(halves, running.catalog));
    BOOST_TEST((tidied == (per_shard > 0 ? whole_plan(workload, {1}) : halves)));
  }
}

BOOST_AUTO_TEST_CASE(a_partial_plan_goes_back_as_far_as_the_limit_asks_for) {
  const Workload workload = tables_of({1000, 900, 800, 30, 20, 10}, 4);
  const std::vector<float> costs{3, 3, 3, 4, 4, 4};
  const Plan now = whole_plan(workload, {0, 0, 0, 0, 0, 0});
  const Plan wanted = whole_plan(workload, {0, 1, 2, 0, 1, 2});
  const std::int64_t all = moved_bytes(workload, now, wanted);
  const std::int64_t small = 2 * table_bytes(workload.tables[3]);
  double last = 100;
  for (const std::int64_t bytes : {std::int64_t{0}, small, all}) {
    Running running(workload, now, costs, 0, bytes);
    std::int64_t evaluations = 0;
    const auto partial = partial_plan(wanted, running.now, 1000, evaluations, [] { return false; });
    BOOST_REQUIRE(partial.has_value());
    BOOST_TEST(evaluations > 0);
    const Plan plan = plan_of(*partial, running.catalog, kDevices);
    BOOST_TEST(moved_bytes(workload, now, plan) <= bytes);
    const double cost = plan_cost(plan, running.evaluator);
    BOOST_TEST(cost < last);
    last = cost;
    // The small tables cost most a byte: they are what still moves.
    if (bytes == small) BOOST_TEST((plan == whole_plan(workload, {0, 0, 0, 0, 1, 2})));
    if (bytes == all) BOOST_TEST((plan == wanted));
  }
}

BOOST_AUTO_TEST_CASE(a_device_gets_several_blocks_of_rows_of_a_table_but_none_of_columns) {
  const Workload workload = tables_of({1000}, 16);
  const Plan now = whole_plan(workload, {0});
  const Plan rows{kDevices,
                  {{0, 0, 250, 0, 16, 0}, {0, 250, 500, 0, 16, 1}, {0, 500, 1000, 0, 16, 1}}};
  const Plan columns{kDevices,
                     {{0, 0, 1000, 0, 4, 0}, {0, 0, 1000, 4, 8, 1}, {0, 0, 1000, 8, 16, 1}}};
  for (const Plan& wanted : {rows, columns}) {
    Running running(workload, now, {8}, -1, kPlenty, shapes_of(wanted));
    std::int64_t evaluations = 0;
    const auto partial = partial_plan(wanted, running.now, 1000, evaluations, [] { return false; });
    BOOST_REQUIRE(partial.has_value());
    BOOST_TEST((plan_of(*partial, running.catalog, kDevices) == (wanted == rows ? rows : now)));
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::search
