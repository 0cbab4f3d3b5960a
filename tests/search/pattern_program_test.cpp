// The configuration linear program by column generation, against the one with every pattern in it.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <vector>

#include "engine/core/rng.h"
#include "search/bounds/covering_lp.h"
#include "search/bounds/lower_bound.h"
#include "search/problem.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::search {
BOOST_AUTO_TEST_SUITE(pattern_program)

namespace {

/// Devices, in fractions, that sets of whole tables of at most `most` milliseconds take to cover
/// all.
double devices_for(const std::vector<float>& costs, double most) {
  CoveringLp lp(std::vector<double>(costs.size(), 1), std::vector<double>(costs.size(), 1e3));
  for (std::size_t set = 1; set < std::size_t{1} << costs.size(); ++set) {
    CoveringLp::Column column;
    double cost = 0;
    for (std::size_t k = 0; k < costs.size(); ++k) {
      if ((set >> k & 1) == 0) continue;
      cost += costs[k];
      column.emplace_back(static_cast<int>(k), 1);
    }
    if (cost <= most) lp.add(std::move(column));
  }
  for (int again = 0; again < 20; ++again) lp.solve();
  return lp.covered() ? lp.value() : 1e3;
}

/// The least cost at which they take no more than there are: a sum of some of the costs.
double least_cost(const std::vector<float>& costs, double devices) {
  std::vector<double> sums;
  for (std::size_t set = 1; set < std::size_t{1} << costs.size(); ++set) {
    double cost = 0;
    for (std::size_t k = 0; k < costs.size(); ++k) cost += (set >> k & 1) * costs[k];
    sums.push_back(cost * (1 + 1e-9));
  }
  std::sort(sums.begin(), sums.end());
  return *std::partition_point(sums.begin(), sums.end(), [&](double cost) {
    return devices_for(costs, cost) > devices + 1e-7;
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(column_generation_finds_the_value_of_the_whole_program) {
  Rng rng(1);
  for (int round = 0; round < 40; ++round) {
    Workload workload;
    std::vector<float> costs;
    for (std::int64_t left = rng.between(3, 8); left > 0; --left) {
      workload.tables.push_back(test::make_table(10, 4));  // whole: it has 4 columns
      costs.push_back(static_cast<float>(round % 2 == 0 ? rng.between(1, 4) : 1 + rng.uniform()));
    }
    const auto devices = static_cast<std::int32_t>(rng.between(2, 4));
    test::TableEvaluator evaluator(workload, devices, costs);
    const Cluster cluster = test::make_cluster(devices, std::int64_t{1} << 40);
    const double bound = *lower_bound({workload, cluster}, evaluator);
    const double program = least_cost(costs, devices);
    BOOST_TEST(bound <= program * (1 + 1e-6));
    BOOST_TEST(bound >= program * (1 - 2e-3));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::search
