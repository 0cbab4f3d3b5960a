#include "engine/core/reuse_histogram.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard {
namespace {

/// P(N = n) for N ~ Poisson(mean), the textbook way.
double poisson(int n, double mean) {
  return std::exp(n * std::log(mean) - mean - std::lgamma(n + 1.0));
}

/// The bin of `count`, sought upwards from one that is not above it.
int bin_of(std::int64_t count, int bin = 0) {
  while (bin < kReuseBins - 1 && count > reuse_bin_range(bin).high) ++bin;
  return bin;
}

/// Row by row, count by count: what expected_reuse must equal without any grouping.
ReuseExpectation brute_force(const std::vector<double>& means) {
  ReuseExpectation result;
  for (const double mean : means) {
    if (mean <= 0) continue;
    const int first = std::max(1, static_cast<int>(mean - 40 * std::sqrt(mean) - 60));
    const int last = static_cast<int>(mean + 40 * std::sqrt(mean) + 60);
    int bin = 0;
    for (int n = first; n <= last; ++n) {
      const double probability = poisson(n, mean);
      bin = bin_of(n, bin);
      result.histogram[static_cast<std::size_t>(bin)] += probability;
      result.distinct_rows += probability;
    }
  }
  for (double& share : result.histogram) share /= result.distinct_rows;
  return result;
}

ReuseExpectation brute_force(std::int64_t rows, double lookups, double alpha) {
  double normalizer = 0;
  for (std::int64_t r = 1; r <= rows; ++r) normalizer += std::pow(static_cast<double>(r), -alpha);
  std::vector<double> means;
  for (std::int64_t r = 1; r <= rows; ++r) {
    means.push_back(lookups * std::pow(static_cast<double>(r), -alpha) / normalizer);
  }
  return brute_force(means);
}

ReuseHistogram histogram_of(const std::vector<std::int64_t>& counts, double& distinct) {
  ReuseHistogram histogram{};
  distinct = 0;
  for (const std::int64_t count : counts) {
    if (count == 0) continue;
    histogram[static_cast<std::size_t>(bin_of(count))] += 1;
    distinct += 1;
  }
  for (double& share : histogram) share /= distinct;
  return histogram;
}

double total_variation(const ReuseHistogram& a, const ReuseHistogram& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::abs(a[k] - b[k]);
  return sum / 2;
}

void check_sane(const ReuseExpectation& reuse, double rows, double lookups) {
  double sum = 0;
  for (const double share : reuse.histogram) {
    BOOST_TEST(std::isfinite(share));
    BOOST_TEST((share >= 0 && share <= 1));
    sum += share;
  }
  BOOST_TEST(sum == (lookups > 0 ? 1.0 : 0.0), boost::test_tools::tolerance(1e-9));
  BOOST_TEST((reuse.distinct_rows >= 0 && reuse.distinct_rows <= rows));
  BOOST_TEST(reuse.distinct_rows <= lookups * (1 + 1e-9));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reuse_histogram)

BOOST_AUTO_TEST_CASE(bins_cover_every_count_once) {
  BOOST_TEST(reuse_bin_range(0).low == 1);
  for (int bin = 1; bin < kReuseBins; ++bin) {
    BOOST_TEST(reuse_bin_range(bin).low == reuse_bin_range(bin - 1).high + 1);
  }
  BOOST_TEST(reuse_bin_range(15).high == 32768);
  BOOST_TEST(reuse_bin_range(16).high == INT64_MAX);
}

BOOST_AUTO_TEST_CASE(equals_summing_row_by_row) {
  for (const double alpha : {0.0, 0.3, 1.0, 1.05, 1.6, 5.0}) {
    for (const std::int64_t rows : {1, 7, 100, 3000}) {
      for (const double lookups : {0.5, 20.0, 3000.0, 200000.0}) {
        const ReuseExpectation fast = expected_reuse(rows, lookups, alpha);
        const ReuseExpectation slow = brute_force(rows, lookups, alpha);
        BOOST_TEST_CONTEXT("alpha " << alpha << " rows " << rows << " lookups " << lookups) {
          BOOST_TEST(fast.distinct_rows == slow.distinct_rows, boost::test_tools::tolerance(1e-4));
          BOOST_TEST(total_variation(fast.histogram, slow.histogram) < 1e-4);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(laws_with_heavy_hitters_equal_summing_row_by_row) {
  const std::vector<double> hitters[] = {{}, {0.5}, {0.2, 0.1, 0.0, 0.05}, {0.6, 0.4}};
  for (const std::vector<double>& heavy : hitters) {
    for (const double q : {0.01, 0.7, 3.0, 500.0}) {
      for (const double s : {0.2, 1.0, 1.4}) {
        constexpr std::int64_t kRows = 3000;
        constexpr double kLookups = 50000;
        std::vector<double> means;
        double left = 1;
        for (const double probability : heavy) {
          means.push_back(kLookups * probability);
          left -= probability;
        }
        std::vector<double> tail;
        for (std::int64_t i = 0; i + static_cast<std::int64_t>(heavy.size()) < kRows; ++i) {
          tail.push_back(
              std::pow(static_cast<double>(i) + static_cast<double>(heavy.size()) + q, -s));
        }
        const double sum = std::accumulate(tail.begin(), tail.end(), 0.0);
        for (const double weight : tail) means.push_back(kLookups * left * weight / sum);
        const ReuseExpectation slow = brute_force(means);
        const ReuseExpectation fast = expected_reuse(kRows, kLookups, IndexLaw{heavy, q, s});
        BOOST_TEST_CONTEXT("hitters " << heavy.size() << " q " << q << " s " << s) {
          BOOST_TEST(fast.distinct_rows == slow.distinct_rows, boost::test_tools::tolerance(1e-4));
          BOOST_TEST(total_variation(fast.histogram, slow.histogram) < 1e-4);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(equals_a_drawn_batch) {
  for (const double alpha : {0.0, 0.8, 1.2}) {
    constexpr std::int64_t kRows = 20000;
    constexpr int kLookups = 400000;
    std::vector<double> cumulative(kRows);
    double sum = 0;
    for (std::int64_t r = 0; r < kRows; ++r) {
      sum += std::pow(static_cast<double>(r + 1), -alpha);
      cumulative[static_cast<std::size_t>(r)] = sum;
    }
    Rng rng(7);
    std::vector<std::int64_t> counts(kRows);
    for (int i = 0; i < kLookups; ++i) {
      const auto found =
          std::lower_bound(cumulative.begin(), cumulative.end(), rng.uniform() * sum);
      ++counts[static_cast<std::size_t>(found - cumulative.begin())];
    }
    double distinct = 0;
    const ReuseHistogram drawn = histogram_of(counts, distinct);
    const ReuseExpectation expected = expected_reuse(kRows, kLookups, alpha);
    BOOST_TEST_CONTEXT("alpha " << alpha) {
      BOOST_TEST(expected.distinct_rows == distinct, boost::test_tools::tolerance(0.01));
      BOOST_TEST(total_variation(expected.histogram, drawn) < 0.01);
    }
  }
}

BOOST_AUTO_TEST_CASE(uniform_draws_have_the_textbook_distinct_count) {
  // E (1 - (1 - 1/E)^n): 10,240 lookups into 100,000 rows touch 9,734 of them.
  BOOST_TEST(expected_reuse(100000, 10240, 0).distinct_rows == 9734,
             boost::test_tools::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(every_size_and_skew_is_finite_and_adds_up_to_one) {
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{2}, std::int64_t{257},
                                  std::int64_t{1000000}, std::int64_t{1000000000000}}) {
    for (const double lookups : {0.0, 1e-9, 1.0, 1e3, 1e7, 1e12}) {
      for (const double alpha : {0.0, 1e-6, 0.5, 0.999999999, 1.0, 1.000000001, 2.0, 5.0, 300.0}) {
        BOOST_TEST_CONTEXT("rows " << rows << " lookups " << lookups << " alpha " << alpha) {
          check_sane(expected_reuse(rows, lookups, alpha), static_cast<double>(rows), lookups);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(small_and_large_tables_agree_where_the_grouping_starts) {
  // 4,096 rows are grouped; the brute force is not.
  const ReuseExpectation fast = expected_reuse(4096, 3e5, 1.1);
  const ReuseExpectation slow = brute_force(4096, 3e5, 1.1);
  BOOST_TEST(total_variation(fast.histogram, slow.histogram) < 1e-4);
}

BOOST_AUTO_TEST_CASE(more_skew_means_fewer_distinct_rows) {
  double before = 1e18;
  for (const double alpha : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0}) {
    const double distinct = expected_reuse(1000000, 500000, alpha).distinct_rows;
    BOOST_TEST(distinct < before);
    before = distinct;
  }
}

BOOST_AUTO_TEST_CASE(no_lookups_give_the_all_zero_histogram) {
  const ReuseExpectation none = expected_reuse(100, 0, 1);
  BOOST_TEST(none.distinct_rows == 0);
  BOOST_TEST(std::accumulate(none.histogram.begin(), none.histogram.end(), 0.0) == 0);
  BOOST_TEST(mean_reuse(none.histogram) == 0);
  BOOST_TEST(distinct_rows(none.histogram, 10, 100) == 0);
}

BOOST_AUTO_TEST_CASE(mean_reuse_reads_bins_at_their_centers) {
  ReuseHistogram histogram{};
  histogram[0] = 0.5;
  histogram[1] = 0.5;
  BOOST_TEST(mean_reuse(histogram) == 1.5);
  BOOST_TEST(distinct_rows(histogram, 300, 1000) == 200);
  BOOST_TEST(distinct_rows(histogram, 300, 120) == 120);
  histogram = {};
  histogram[16] = 1;
  BOOST_TEST(mean_reuse(histogram) == 49152);
}

/// Each lookup of a batch is drawn into the part or not, one by one.
BOOST_AUTO_TEST_CASE(a_part_of_a_batch_has_the_histogram_of_lookups_drawn_for_it) {
  Rng rng(9);
  for (const double share : {0.5, 0.125, 1.0 / 64}) {
    ReuseHistogram all{};
    double rows_seen = 0;
    double lookups_seen = 0;
    double rows = 0;
    double lookups = 0;
    for (int row = 0; row < 20'000; ++row) {
      // Counts at the bins' centres, as nearly as whole numbers can: 1, 2, 3.5, 6.9, ..
      const auto bin = static_cast<int>(rng.below(10));
      ReuseHistogram only{};
      only[static_cast<std::size_t>(bin)] = 1;
      const double centre = mean_reuse(only);
      auto count = static_cast<std::int64_t>(centre);
      if (rng.uniform() < centre - static_cast<double>(count)) ++count;
      all[static_cast<std::size_t>(bin)] += 1;
      rows += 1;
      lookups += static_cast<double>(count);
      std::int64_t seen = 0;
      for (std::int64_t k = 0; k < count; ++k) seen += rng.uniform() < share ? 1 : 0;
      lookups_seen += static_cast<double>(seen);
      rows_seen += seen > 0 ? 1 : 0;
    }
    for (double& own : all) own /= rows;
    const ReuseHistogram part = thinned_reuse(all, lookups, 1 << 30, share);
    BOOST_TEST(mean_reuse(part) == lookups_seen / rows_seen, boost::test_tools::tolerance(0.02));
    BOOST_TEST(distinct_rows(part, lookups * share, 1 << 30) == rows_seen,
               boost::test_tools::tolerance(0.02));
  }
}

BOOST_AUTO_TEST_CASE(all_of_a_batch_and_no_lookups_stay_as_they_are) {
  ReuseHistogram histogram{};
  BOOST_TEST((thinned_reuse(histogram, 0, 10, 0.5) == histogram));
  histogram[3] = 1;
  BOOST_TEST((thinned_reuse(histogram, 100, 1000, 1) == histogram));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
