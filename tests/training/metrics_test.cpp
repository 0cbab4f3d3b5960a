// Kendall's tau against its definition, and errors worked out by hand.
#include "engine/training/metrics.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard {
namespace {

// The definition: every pair.
double slow_tau(const std::vector<double>& a, const std::vector<double>& b) {
  double agree = 0, pairs_a = 0, pairs_b = 0;
  const auto sign = [](double x) { return (x > 0) - (x < 0); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int u = sign(a[i] - a[j]);
      const int v = sign(b[i] - b[j]);
      agree += u * v;
      pairs_a += u * u;
      pairs_b += v * v;
    }
  }
  return agree / std::sqrt(pairs_a * pairs_b);  // without a pair: NaN
}

}  // namespace

BOOST_AUTO_TEST_SUITE(metrics)

BOOST_AUTO_TEST_CASE(tau_is_its_definition_with_and_without_ties) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t size = rng.below(40);
    const std::uint64_t levels = 1 + rng.below(50);  // few levels: many ties
    std::vector<double> a(size), b(size);
    for (std::size_t i = 0; i < size; ++i) {
      a[i] = static_cast<double>(rng.below(levels));
      b[i] = static_cast<double>(rng.below(levels));
    }
    const double tau = kendall_tau(a, b);
    const double slow = slow_tau(a, b);
    BOOST_TEST((std::fabs(tau - slow) < 1e-12 || (std::isnan(tau) && std::isnan(slow))));
  }
}

BOOST_AUTO_TEST_CASE(tau_of_equal_and_opposite_orders) {
  const std::vector<double> up = {1, 2, 3, 10};
  const std::vector<double> down = {4, 3, 0, -9};
  BOOST_TEST(kendall_tau(up, up) == 1.0);
  BOOST_TEST(kendall_tau(up, down) == -1.0);
  BOOST_TEST(std::isnan(kendall_tau({}, {})));
  BOOST_TEST(std::isnan(kendall_tau(up, std::vector<double>(4, 1.0))));
}

BOOST_AUTO_TEST_CASE(errors_by_hand) {
  const std::vector<double> predicted = {11, 18, 5};
  const std::vector<double> measured = {10, 20, 0};
  const Metrics metrics = measure_fit(predicted, measured);
  BOOST_TEST(metrics.count == 3);
  BOOST_TEST(metrics.mse == 10.0);
  BOOST_TEST(std::fabs(metrics.mape - 0.1) < 1e-12);  // the measurement of 0 has no relative error
  BOOST_TEST(measure_fit({}, {}).count == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
