// The bound that knows that devices hold whole pieces: its parts against going through everything,
// and itself against plans.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "engine/core/rng.h"
#include "search/bounds/covering_lp.h"
#include "search/bounds/device_knapsack.h"
#include "search/bounds/lower_bound.h"
#include "search/bounds/piece_costs.h"
#include "search/problem.h"
#include "search/refine/refine.h"
#include "tests/search/fused_evaluator.h"
#include "tests/support/sanitized.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(configuration_bound)

namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

std::vector<KnapsackClass> random_classes(Rng& rng) {
  std::vector<KnapsackClass> classes(static_cast<std::size_t>(rng.between(1, 6)));
  for (KnapsackClass& items : classes) {
    for (std::int64_t left = rng.between(0, 4); left > 0; --left) {
      items.push_back({0.1 + rng.uniform(), rng.uniform(), static_cast<int>(left)});
    }
    if (rng.below(3) == 0 && &items != classes.data()) items = *(&items - 1);
  }
  return classes;
}

/// The most that any choice is worth.
double worth_of_best(const std::vector<KnapsackClass>& classes, double capacity, double filler) {
  double best = 0;
  const std::function<void(std::size_t, double, double)> visit = [&](std::size_t at, double weight,
                                                                     double value) {
    if (weight > capacity) return;
    if (at == classes.size()) {
      best = std::max(best, value + filler * (capacity - weight));
      return;
    }
    visit(at + 1, weight, value);
    for (const KnapsackItem& item : classes[at]) {
      visit(at + 1, weight + item.weight, value + item.value);
    }
  };
  visit(0, 0, 0);
  return best;
}

/// Of all layouts of a few tables in columns: the least cost, by going through all of them. Devices
/// are alike, and what a device holds of a table is one piece or several, whatever costs less.
class AllPlans {
 public:
  AllPlans(const Problem& problem, PlanEvaluator& evaluator)
      : loads_(static_cast<std::size_t>(problem.cluster.devices), 0) {
    for (std::size_t k = 0; k < problem.space.tables.size(); ++k) {
      const auto table = static_cast<std::int32_t>(k);
      pieces_.push_back(piece_costs(problem, table, evaluator, {}, false).columns);
    }
  }
  double least() {
    place(0, 0);
    return best_;
  }

 private:
  /// The rest of a table, whose pieces go to devices in every order.
  void place(std::size_t table, std::size_t done) {
    if (*std::max_element(loads_.begin(), loads_.end()) >= best_) return;
    if (table == pieces_.size()) {
      best_ = *std::max_element(loads_.begin(), loads_.end());
      return;
    }
    const ColumnCosts& costs = pieces_[table];
    const std::size_t grains = costs.grains();
    if (done == grains) {
      place(table + 1, 0);
      return;
    }
    for (std::size_t k = 1; done + k <= grains; ++k) {
      for (double& load : loads_) {
        load += costs.even[k];
        place(table, done + k);
        load -= costs.even[k];
      }
    }
  }

  std::vector<ColumnCosts> pieces_;
  std::vector<double> loads_;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_knapsack_is_as_good_as_going_through_all_choices) {
  Rng rng(1);
  int exact = 0;
  for (int round = 0; round < 400; ++round) {
    const std::vector<KnapsackClass> classes = random_classes(rng);
    const double capacity = 0.2 + 2 * rng.uniform();
    const double filler = round % 2 == 0 ? 0 : rng.uniform();
    const double best = worth_of_best(classes, capacity, filler);
    for (const std::size_t slots : {std::size_t{0}, std::size_t{8}, std::size_t{4096}}) {
      const KnapsackFound found =
          solve_knapsack(classes, capacity, {.filler = filler, .slots = slots});
      BOOST_TEST(found.most >= best * (1 - 1e-9));
      BOOST_TEST(found.value <= best * (1 + 1e-9));
      double weight = 0;
      double value = 0;
      for (std::size_t k = 0; k < classes.size(); ++k) {
        if (found.chosen[k] < 0) continue;
        const KnapsackItem& item = classes[k][static_cast<std::size_t>(found.chosen[k])];
        weight += item.weight;
        value += item.value;
      }
      BOOST_TEST(weight <= capacity * (1 + 1e-9));
      BOOST_TEST(std::abs(value + filler * (capacity - weight) - found.value) < 1e-9);
      if (slots == 4096) exact += found.most <= best * (1 + 1e-9) ? 1 : 0;
    }
    // What is good enough not to be looked for is a bound of the rest.
    const KnapsackFound enough = solve_knapsack(classes, capacity, {.enough = 10});
    BOOST_TEST(enough.most == 10);
  }
  BOOST_TEST(exact > 390);
}

BOOST_AUTO_TEST_CASE(a_covering_program_has_no_better_solution) {
  // Its prices prove it: no pattern is worth more than 1, and all needs are worth the value.
  Rng rng(2);
  for (int round = 0; round < 200; ++round) {
    const auto rows = static_cast<std::size_t>(rng.between(1, 8));
    std::vector<double> needs;
    for (std::size_t r = 0; r < rows; ++r) needs.push_back(0.5 + 3 * rng.uniform());
    CoveringLp lp(needs, std::vector<double>(rows, 1e4));
    std::vector<CoveringLp::Column> patterns;
    for (std::size_t p = 0; p < 3 * rows; ++p) {
      CoveringLp::Column column;
      for (std::size_t r = 0; r < rows; ++r) {
        if (rng.below(2) == 0) column.emplace_back(static_cast<int>(r), 0.1 + rng.uniform());
      }
      // Each row is in one at least.
      if (p < rows) column = {{static_cast<int>(p), 0.3 + rng.uniform()}};
      patterns.push_back(column);
      lp.add(column);
      if (p % 4 == 0) lp.solve();
    }
    lp.solve();
    BOOST_TEST(lp.covered());
    double worth = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      BOOST_TEST(lp.prices()[r] >= 0);
      worth += lp.prices()[r] * needs[r];
    }
    BOOST_TEST(std::abs(worth - lp.value()) < 1e-5 * worth);
    for (const CoveringLp::Column& column : patterns) {
      double own = 0;
      for (const auto& [row, value] : column)
        own += lp.prices()[static_cast<std::size_t>(row)] * value;
      BOOST_TEST(own <= 1 + 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(no_layout_in_columns_is_below_the_bound) {
  Rng rng(3);
  double gap = 0;
  double gap_of_area = 0;
  for (int round = 0; round < test::unless_sanitized(60, 15); ++round) {
    const auto devices = static_cast<std::int32_t>(rng.between(2, 3));
    Workload workload;
    std::vector<float> costs;
    for (std::int64_t left = rng.between(1, 3); left > 0; --left) {
      workload.tables.push_back(
          test::make_table(10, static_cast<std::int32_t>(4 * rng.between(1, 3))));
      costs.push_back(static_cast<float>(1 + rng.below(4)));
      if (round % 3 == 0 && workload.tables.size() > 1) {
        workload.tables.back() = workload.tables.front();
        costs.back() = costs.front();
      }
    }
    test::TableEvaluator evaluator(workload, devices, costs, static_cast<float>(rng.uniform()));
    const Problem problem{workload, test::make_cluster(devices, kPlenty)};
    const double least = AllPlans(problem, evaluator).least();
    const double full = *lower_bound(problem, evaluator);
    const double area = *lower_bound(problem, evaluator, {}, {.effort = BoundEffort::kArea});
    BOOST_TEST(full <= least * (1 + 1e-9));
    BOOST_TEST(area <= full);
    gap += least / full - 1;
    gap_of_area += least / area - 1;
  }
  BOOST_TEST(gap < 0.5 * gap_of_area);  // and it says more
}

BOOST_AUTO_TEST_CASE(whole_tables_that_leave_gaps_are_known_to) {
  Workload workload;
  for (int k = 0; k < 5; ++k) workload.tables.push_back(test::make_table(10 + k, 4));
  test::TableEvaluator evaluator(workload, 4, std::vector<float>(5, 3.0f));
  const Problem problem{workload, test::make_cluster(4, kPlenty)};
  // Five tables of 3 ms that cannot be divided on four devices: the area says 3.75.
  BOOST_TEST(std::abs(*lower_bound(problem, evaluator, {}, {.effort = BoundEffort::kArea}) - 3.75) <
             1e-4);
  const double bound = *lower_bound(problem, evaluator);
  BOOST_TEST(bound <= 6);
  BOOST_TEST(bound > 5.99);
}

BOOST_AUTO_TEST_CASE(pieces_that_do_not_fit_a_device_are_not_counted_on) {
  Workload workload;
  workload.tables = {test::make_table(1000, 32), test::make_table(1000, 4)};
  // 8 ms whole, and a millisecond for each piece: with room for half of the table only, 2 pieces.
  test::TableEvaluator evaluator(workload, 2, {8, 1}, 1);
  const auto bound_with = [&](std::int64_t memory, bool within) {
    const Problem problem{workload, test::make_cluster(2, memory)};
    return *lower_bound(problem, evaluator, {}, {.within_memory = within});
  };
  const std::int64_t half = workload.tables[0].rows * 16 * 4;
  BOOST_TEST(bound_with(half, true) > bound_with(half, false) - 1e-9);
  BOOST_TEST(bound_with(half / 2, true) > bound_with(half, true) + 0.1);
  BOOST_TEST(bound_with(half / 2, false) == bound_with(kPlenty, true));
}

BOOST_AUTO_TEST_CASE(plans_of_every_kind_of_layout_are_above_the_bound) {
  Rng rng(4);
  for (int round = 0; round < test::unless_sanitized(40, 16); ++round) {
    const std::int32_t devices = round % 2 == 0 ? 4 : 8;
    Workload workload = test::random_workload(rng, 9);
    for (Table& table : workload.tables) {
      if (round % 3 == 0) table.dim += static_cast<std::int32_t>(rng.below(4));
      table.rows += rng.below(100);
      table.sharding.whole = rng.below(5) != 0;
      if (table.dim < 16) table.sharding.whole = true;
      if (rng.below(4) == 0) table.sharding.min_columns = 8;
    }
    std::vector<float> costs;
    for (std::size_t k = 0; k < workload.tables.size(); ++k) {
      costs.push_back(static_cast<float>(0.2 + 10 * rng.uniform() * rng.uniform()));
    }
    test::TableEvaluator evaluator(workload, devices, costs, static_cast<float>(rng.uniform()));
    SearchOptions options;
    options.evaluations = 5000;
    options.advise = false;
    options.row_splits = round % 4 < 2 ? RowSplits::kOff : RowSplits::kEven;
    options.row_parts = devices;
    options.devices_per_host = round % 8 < 4 ? 0 : 4;
    options.replicate = round % 5 == 0;
    const double room = round % 2 == 0 ? 1.3 : 3;
    const Problem problem{workload, test::cluster_with_room(workload, devices, room)};
    const RowShapes rows = row_shapes(options, devices);
    const auto found = shard_refine(problem, evaluator, options);
    if (!found.ok()) continue;
    const double cost = test::canonical_cost(found->plan, evaluator);
    for (const BoundEffort effort : {BoundEffort::kArea, BoundEffort::kQuick, BoundEffort::kFull}) {
      for (const bool within_memory : {false, true}) {
        const auto bound = lower_bound(problem, evaluator, rows, {effort, within_memory});
        BOOST_REQUIRE(bound.has_value());
        BOOST_TEST(*bound > 0);
        BOOST_TEST(*bound <= cost);
      }
    }
    BOOST_TEST((lower_bound(problem, evaluator, rows) == lower_bound(problem, evaluator, rows)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
