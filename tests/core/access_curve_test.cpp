// Against caches that evict the least recently used row, over sampled batches.
#include "engine/core/access_curve.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "engine/core/reuse_histogram.h"
#include "engine/core/rng.h"
#include "tests/support/sanitized.h"

namespace neuroshard {
namespace {

/// Row numbers of Zipf's law.
class Draws {
 public:
  Draws(std::int64_t rows, double alpha, std::uint64_t seed) : rng_(seed) {
    double sum = 0;
    for (std::int64_t row = 1; row <= rows; ++row) {
      up_to_.push_back(sum += std::pow(static_cast<double>(row), -alpha));
    }
  }
  std::size_t next() {
    const double at = rng_.uniform() * up_to_.back();
    return static_cast<std::size_t>(std::upper_bound(up_to_.begin(), up_to_.end(), at) -
                                    up_to_.begin());
  }

 private:
  Rng rng_;
  std::vector<double> up_to_;
};

/// Of the lookups after `warm` ones, the share that finds its row in the cache.
double simulated_hits(Draws draws, std::size_t cached, int warm, int counted) {
  std::list<std::size_t> order;  // the last looked up first
  std::unordered_map<std::size_t, std::list<std::size_t>::iterator> places;
  int hits = 0;
  for (int lookup = 0; lookup < warm + counted; ++lookup) {
    const std::size_t row = draws.next();
    const auto place = places.find(row);
    if (place != places.end()) {
      hits += lookup >= warm ? 1 : 0;
      order.splice(order.begin(), order, place->second);
      continue;
    }
    if (order.size() == cached) {
      places.erase(order.back());
      order.pop_back();
    }
    order.push_front(row);
    places[row] = order.begin();
  }
  return static_cast<double>(hits) / counted;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(access_curve)

BOOST_AUTO_TEST_CASE(hits_are_within_three_points_of_simulated_caches) {
  constexpr std::int64_t kRows = 20'000;
  const std::vector<double> some_shares{0.05, 0.5};
  const std::vector<double> shares{0.01, 0.05, 0.2, 0.5};
  for (const double alpha : {0.0, 0.6, 0.9, 1.05, 1.3}) {
    for (const double share : test::kSanitized ? some_shares : shares) {
      const double simulated = simulated_hits(
          Draws(kRows, alpha, 7), static_cast<std::size_t>(share * kRows), 100'000, 100'000);
      for (const int lookups : {10'000, 40'000, 200'000}) {
        const ReuseExpectation batch = expected_reuse(kRows, lookups, alpha);
        const double hits = AccessCurve(batch.histogram, lookups, kRows).hits(share);
        BOOST_TEST(std::abs(hits - simulated) < 0.03,
                   "alpha " << alpha << ", " << lookups << " lookups, cache of " << share << ": "
                            << hits << ", simulated " << simulated);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(more_cache_never_serves_less_and_gains_ever_less) {
  Rng rng(3);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto rows = static_cast<std::int64_t>(std::exp(18 * rng.uniform())) + 1;
    const double lookups = std::exp(16 * rng.uniform());
    ReuseHistogram histogram = expected_reuse(rows, lookups, 1.5 * rng.uniform()).histogram;
    if (repeat % 2 == 0) {  // any other
      double sum = 0;
      for (double& share : histogram) sum += share = std::pow(rng.uniform(), 4);
      for (double& share : histogram) share /= sum;
    }
    const AccessCurve curve(histogram, lookups, rows);
    BOOST_TEST(curve.hits(0) == 0);
    BOOST_TEST(curve.hits(1) == 1);
    double gain = 1e9;
    double before = 0;
    const auto shares = access_curve_shares();
    for (std::size_t k = 1; k < shares.size(); ++k) {
      const double hits = curve.hits(shares[k]);
      BOOST_REQUIRE(hits >= shares[k]);
      BOOST_REQUIRE(hits <= 1);
      const double now = (hits - before) / (shares[k] - shares[k - 1]);
      BOOST_TEST(now <= gain * 1.02 + 1e-6, "repeat " << repeat << " at " << shares[k]);
      gain = now;
      before = hits;
    }
  }
}

BOOST_AUTO_TEST_CASE(lines_join_the_shares) {
  const AccessCurve curve(expected_reuse(1'000'000, 65536, 1.05).histogram, 65536, 1'000'000);
  BOOST_TEST(curve.hits(0.02) > curve.hits(0.015));
  BOOST_TEST(curve.hits(0.0175) == (curve.hits(0.015) + curve.hits(0.02)) / 2,
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(all_rows_are_alike_where_nothing_is_known) {
  const AccessCurve unknown(ReuseHistogram{}, 1000, 1'000'000);
  for (const double share : {0.0, 0.05, 0.37, 1.0}) {
    BOOST_TEST(unknown.hits(share) == share, boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
