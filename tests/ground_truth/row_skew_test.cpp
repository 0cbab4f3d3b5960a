#include "engine/core/row_skew.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <random>
#include <vector>

namespace neuroshard {
namespace {

/// The mean of each block's load, hottest first, over draws of where the rows are.
std::vector<double> drawn_skews(const RowUse& use, std::int32_t blocks, int draws) {
  std::mt19937_64 random(7);
  std::vector<double> mean(static_cast<std::size_t>(blocks), 0.0);
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<double> loads(mean.size(), 0.0);
    for (std::size_t bin = 0; bin < use.rows.size(); ++bin) {
      for (int row = 0; row < static_cast<int>(use.rows[bin]); ++row) {
        loads[random() % loads.size()] += use.count[bin];
      }
    }
    const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
    std::sort(loads.rbegin(), loads.rend());
    for (std::size_t i = 0; i < loads.size(); ++i) mean[i] += loads[i] / sum * blocks / draws;
  }
  return mean;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(row_skew)

BOOST_AUTO_TEST_CASE(expected_loads_are_near_those_of_random_draws) {
  RowUse use;  // as a skewed table has them: many cold rows, some warm ones, three very hot ones
  use.rows = {20000, 5000, 2000, 800, 300, 100, 50, 20, 0, 3};
  use.count = {1, 2, 3.5, 6, 12, 24, 48, 96, 0, 4000};
  for (const std::int32_t blocks : {4, 8, 32}) {
    const std::vector<double> expected = drawn_skews(use, blocks, 400);
    const std::vector<double> found = block_skews(use, blocks);
    BOOST_TEST(std::accumulate(found.begin(), found.end(), 0.0) == blocks,
               boost::test_tools::tolerance(1e-9));
    BOOST_TEST(std::is_sorted(found.rbegin(), found.rend()));
    BOOST_TEST(found.front() == expected.front(), boost::test_tools::tolerance(0.15));
    BOOST_TEST(found.back() == expected.back(), boost::test_tools::tolerance(0.15));
  }
}

BOOST_AUTO_TEST_CASE(even_lookups_have_no_skew_and_no_histogram_has_none) {
  RowUse even;
  even.rows[0] = 1e6;
  even.count[0] = 1;
  for (const double skew : block_skews(even, 16)) {
    BOOST_TEST(skew == 1, boost::test_tools::tolerance(0.02));
  }
  BOOST_TEST((block_skews(RowUse{}, 3) == std::vector<double>{1, 1, 1}));
  BOOST_TEST((block_skews(even, 1) == std::vector<double>{1}));
}

BOOST_AUTO_TEST_CASE(one_row_that_takes_all_lookups_is_on_one_block) {
  RowUse one;
  one.rows[16] = 1;
  one.count[16] = 1e6;
  const std::vector<double> skews = block_skews(one, 4);
  BOOST_TEST(skews[0] == 4);
  BOOST_TEST(skews[1] == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
