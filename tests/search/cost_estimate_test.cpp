// What a walk thinks of a move before the whole plan is costed: the most dims of a device, and
// loads and dims in a norm.
#include "search/local/cost_estimate.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/core/rng.h"
#include "search/local/local_plan.h"
#include "search/local/moves.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::search {
namespace {

constexpr std::int32_t kDevices = 3;
constexpr double kPerDim = 0.1;  ///< ms of every device per dim of the widest

/// Tables that cost nothing but what their dims have all devices wait for.
struct Wide {
  Workload workload;
  test::TableEvaluator evaluator;
  ShapeCatalog catalog;
  LocalPlan plan;

  explicit Wide(std::size_t tables)
      : workload{.tables = std::vector<Table>(tables, test::make_table(1000, 8))},
        evaluator(workload, kDevices, std::vector<float>(tables, 0)),
        catalog(space_of(workload), evaluator),
        plan({workload, test::make_cluster(kDevices, std::int64_t{1} << 40)}, evaluator, catalog) {}

  /// Of the plan as it is.
  CostEstimate estimate() const {
    CostEstimate found({0, 0, 0, kPerDim}, 2);
    const std::int64_t widest = *std::max_element(plan.dim_sums().begin(), plan.dim_sums().end());
    const std::vector<double> ready(kDevices, 0);
    const std::vector<double> total(kDevices, kPerDim * static_cast<double>(widest));
    found.set(ready, total, plan.dim_sums());
    return found;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cost_estimate)

BOOST_AUTO_TEST_CASE(one_of_two_widest_devices_gains_by_losing_dims) {
  Wide wide(7);
  Assignment pieces;
  for (const std::int32_t device : {0, 0, 0, 1, 1, 1, 2}) {
    pieces.push_back({wide.catalog.whole(static_cast<std::int32_t>(pieces.size())), device});
  }
  wide.plan.assign(pieces);
  const CostEstimate estimate = wide.estimate();
  Move move = shift_of(wide.plan, 0, 2);
  BOOST_REQUIRE(price(wide.plan, std::int64_t{1} << 40, move));
  BOOST_TEST(estimate.effect_of(wide.plan, move).cost == estimate.cost());  // of the other widest
  BOOST_TEST(estimate.objective_after(wide.plan, move) < estimate.objective());
  move = shift_of(wide.plan, 6, 0);
  BOOST_REQUIRE(price(wide.plan, std::int64_t{1} << 40, move));
  BOOST_TEST(estimate.objective_after(wide.plan, move) > estimate.objective());
}

BOOST_AUTO_TEST_CASE(what_moves_add_up_to_is_what_the_plan_then_has) {
  Rng rng(3);
  Wide wide(20);
  Assignment pieces;
  for (std::int32_t table = 0; table < 20; ++table) {
    pieces.push_back({wide.catalog.whole(table), static_cast<std::int32_t>(rng.below(kDevices))});
  }
  wide.plan.assign(pieces);
  CostEstimate estimate = wide.estimate();
  const MoveSource source({}, std::int64_t{1} << 40, true);
  Move move;
  int made = 0;
  for (int step = 0; step < 2000; ++step) {
    if (!source.draw(wide.plan, estimate.busiest(step % 2 == 1), rng, move)) continue;
    const double foretold = estimate.objective_after(wide.plan, move);
    estimate.accept(wide.plan, move);
    for (int k = 0; k < move.edit_count; ++k) {
      wide.plan.apply(move.edits[static_cast<std::size_t>(k)]);
    }
    BOOST_REQUIRE_CLOSE_FRACTION(estimate.objective(), foretold, 1e-12);
    BOOST_REQUIRE_CLOSE_FRACTION(estimate.objective(), wide.estimate().objective(), 1e-9);
    ++made;
  }
  BOOST_TEST(made > 1000);
}

BOOST_AUTO_TEST_CASE(softened_it_is_the_mean_load_in_a_norm_and_moves_add_up_to_it) {
  Rng rng(5);
  Workload workload;
  std::vector<float> costs;
  for (int table = 0; table < 300; ++table) {
    const auto dim = static_cast<std::int32_t>(4 << rng.below(5));
    workload.tables.push_back(test::make_table(1000, dim));
    costs.push_back(static_cast<float>(1 + 9 * rng.uniform()));
  }
  test::TableEvaluator evaluator(workload, kDevices, costs);
  const ShapeCatalog catalog(space_of(workload), evaluator);
  LocalPlan plan({workload, test::make_cluster(kDevices, std::int64_t{1} << 40)}, evaluator,
                 catalog);
  Assignment pieces;
  for (std::int32_t table = 0; table < 300; ++table) {
    pieces.push_back({catalog.whole(table), static_cast<std::int32_t>(rng.below(kDevices))});
  }
  plan.assign(pieces);
  for (int doublings = 0; doublings <= 7; ++doublings) {
    CostEstimate estimate({.waiting = 1, .widest_per_dim = kPerDim}, 0);
    estimate.soften(doublings, true);
    const auto loads = [&] {
      return std::vector<double>(plan.compute_ms().begin(), plan.compute_ms().end());
    };
    const auto mean_in_norm = [&](const std::vector<double>& values) {
      const double most = *std::max_element(values.begin(), values.end());
      if (doublings == 0) return most;
      double sum = 0;
      for (const double value : values) sum += std::pow(value / most, std::pow(2.0, doublings));
      return most * std::pow(sum / kDevices, std::pow(0.5, doublings));
    };
    const MoveSource source({}, std::int64_t{1} << 40, true);
    Move move;
    for (int step = 0; step < 200; ++step) {
      const std::vector<double> dims(plan.dim_sums().begin(), plan.dim_sums().end());
      if (step % 10 == 0) {                         // as after moves that stand
        const std::vector<double> ready = loads();  // and all devices wait for the last one
        const std::vector<double> total(kDevices,
                                        *std::max_element(ready.begin(), ready.end()) +
                                            kPerDim * *std::max_element(dims.begin(), dims.end()));
        estimate.set(ready, total, plan.dim_sums());
      }
      const double even = std::accumulate(dims.begin(), dims.end(), 0.0) / kDevices;
      double excess = 0;
      for (const double own : dims) excess += std::max(0.0, own - even);
      const double spread = doublings > 0 ? excess / kDevices : 0;  // else with the balanced load
      BOOST_REQUIRE_CLOSE_FRACTION(estimate.objective(),
                                   mean_in_norm(loads()) + kPerDim * (mean_in_norm(dims) + spread),
                                   1e-5);
      if (!source.draw(plan, estimate.busiest(false), rng, move)) continue;
      const double foretold = estimate.objective_after(plan, move);
      estimate.accept(plan, move);
      for (int k = 0; k < move.edit_count; ++k) {
        plan.apply(move.edits[static_cast<std::size_t>(k)]);
      }
      BOOST_REQUIRE_CLOSE_FRACTION(estimate.objective(), foretold, 1e-12);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
