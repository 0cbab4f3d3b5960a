#include "engine/core/fit_index_law.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace neuroshard {
namespace {

BOOST_AUTO_TEST_SUITE(fit_index_law)

/// That what it says of a law is so, and that FBGEMM takes the law.
void check_honest(const FittedLaw& fitted, const ReuseHistogram& histogram, double lookups,
                  std::int64_t rows) {
  const ReuseHistogram expected = expected_reuse(rows, lookups, fitted.law).histogram;
  double away = 0;
  for (std::size_t bin = 0; bin < expected.size(); ++bin) {
    away += std::abs(expected[bin] - histogram[bin]) / 2;
  }
  BOOST_TEST(std::abs(away - fitted.distance) < 1e-12);
  BOOST_TEST(fitted.law.zipf_s > 0);
  BOOST_TEST(fitted.law.zipf_q > 0);
  const std::vector<double>& hitters = fitted.law.heavy_hitters;
  BOOST_TEST(std::ssize(hitters) < rows);
  BOOST_TEST(std::ssize(hitters) <= kMostFittedHitters);
  BOOST_TEST(std::accumulate(hitters.begin(), hitters.end(), 0.0) <= 1 + 1e-9);
}

BOOST_AUTO_TEST_CASE(histograms_of_power_laws_are_met_within_three_points) {
  for (const double alpha : {0.0, 0.5, 0.8, 1.05, 1.3}) {
    for (const std::int64_t rows : {3, 1000, 1'000'000, 100'000'000}) {
      BOOST_TEST_CONTEXT("alpha " << alpha << ", " << rows << " rows") {
        const double lookups = 65536 * 4;
        const ReuseHistogram histogram = expected_reuse(rows, lookups, alpha).histogram;
        const FittedLaw fitted = neuroshard::fit_index_law(histogram, lookups, rows);
        BOOST_TEST(fitted.distance < 0.03);
        check_honest(fitted, histogram, lookups, rows);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_few_hot_rows_among_many_even_ones_become_heavy_hitters) {
  ReuseHistogram histogram{};
  histogram[0] = 0.7;
  histogram[1] = 0.2;
  histogram[2] = 0.0999;
  histogram[15] = 0.0001;
  const FittedLaw fitted = neuroshard::fit_index_law(histogram, 65536 * 4, 100'000);
  BOOST_TEST(!fitted.law.heavy_hitters.empty());
  BOOST_TEST(fitted.distance < 0.15);
  check_honest(fitted, histogram, 65536 * 4, 100'000);
}

BOOST_AUTO_TEST_CASE(without_lookups_the_law_is_even) {
  const FittedLaw fitted = neuroshard::fit_index_law({}, 0, 1);
  BOOST_TEST(fitted.law.heavy_hitters.empty());
  BOOST_TEST(fitted.law.zipf_s < 1e-5);
  BOOST_TEST(fitted.distance == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard
