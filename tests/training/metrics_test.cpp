// Kendall's tau against its definition, and errors worked out by hand.
#include "engine/training/metrics.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
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

/// The definition: the smallest share that enough of the measurements are within.
double slow_half_width(const std::vector<double>& predicted, const std::vector<double>& measured) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    shares.push_back(std::fabs(measured[i] - predicted[i]) / predicted[i]);
  }
  std::sort(shares.begin(), shares.end());
  for (const double share : shares) {
    const auto inside = std::count_if(shares.begin(), shares.end(),
                                      [&](const double other) { return other <= share; });
    const auto wanted = static_cast<double>(measured.size() + 1);
    if (10.0 * static_cast<double>(inside) >= 9.0 * wanted) return share;
  }
  return std::numeric_limits<double>::infinity();
}

BOOST_AUTO_TEST_CASE(half_width_is_its_definition) {
  Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> predicted, measured;
    for (std::size_t i = rng.below(60); i > 0; --i) {
      predicted.push_back(0.1 + rng.uniform());
      measured.push_back(0.1 + rng.uniform());
    }
    const double share = conformal_half_width(predicted, measured);
    BOOST_TEST(share == slow_half_width(predicted, measured));
    if (std::isfinite(share)) BOOST_TEST(coverage_of(share, predicted, measured) >= 0.9);
  }
}

/// What split conformal prediction promises, by many draws.
BOOST_AUTO_TEST_CASE(nine_of_ten_further_costs_lie_in_their_interval) {
  Rng rng(4);
  const auto draw = [&](std::vector<double>& predicted, std::vector<double>& measured) {
    for (int i = 0; i < 200; ++i) {
      predicted.push_back(1 + 9 * rng.uniform());
      measured.push_back(predicted.back() * std::exp(0.2 * rng.normal()));
    }
  };
  double covered = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> predicted, measured, later_predicted, later_measured;
    draw(predicted, measured);
    draw(later_predicted, later_measured);
    covered +=
        coverage_of(conformal_half_width(predicted, measured), later_predicted, later_measured);
  }
  BOOST_TEST(covered / kRounds > 0.89);
  BOOST_TEST(covered / kRounds < 0.92);
}

BOOST_AUTO_TEST_CASE(an_interval_is_judged_by_samples_it_was_not_made_of) {
  Rng rng(5);
  std::vector<double> predicted, measured;
  for (int i = 0; i < 1000; ++i) {
    predicted.push_back(1);
    measured.push_back(std::exp(0.1 * rng.normal()));
  }
  Metrics own;
  judge_interval({}, predicted, measured, own);
  BOOST_TEST(own.coverage > 0.86);
  BOOST_TEST(own.coverage < 0.94);
  Metrics known;
  judge_interval(0.1, predicted, measured, known);
  BOOST_TEST(known.interval == 0.1);
  BOOST_TEST(known.coverage == coverage_of(0.1, predicted, measured));
  Metrics few;
  judge_interval({}, {predicted.data(), 12}, {measured.data(), 12}, few);
  BOOST_TEST(std::isnan(few.coverage));
  // Predictions that are no times hold nothing; one device exchanges nothing, and is right.
  BOOST_TEST(coverage_of(1e9, std::vector<double>{-1, 0, 0}, std::vector<double>{1, 1, 0}) ==
             1.0 / 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
