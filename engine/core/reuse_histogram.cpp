#include "engine/core/reuse_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace neuroshard {
namespace {

constexpr int kTails = kReuseBins - 1;  // thresholds 2^0, 2^1, .., 2^15

/// Above this mean a row is in the last bin for certain: 32,768 is 36 standard deviations below.
constexpr double kCertainMean = 40000;

/// ln(n!) for n >= 0. std::lgamma writes a global on some systems, so threads may not share it.
double log_factorial(int n) {
  if (n < 16) {
    double product = 1;
    for (int i = 2; i <= n; ++i) product *= i;
    return std::log(product);
  }
  const double x = n + 1.0;  // Stirling's series of ln Gamma(x); the next term is below 1e-14
  const double inverse_square = 1 / (x * x);
  const double series =
      (1.0 / 12 - inverse_square * (1.0 / 360 - inverse_square * (1.0 / 1260))) / x;
  return (x - 0.5) * std::log(x) - x + 0.5 * std::log(2 * std::numbers::pi) + series;
}

/// P(N > n) for N ~ Poisson(mean), accurate relative to itself where it is small: the regularised
/// lower incomplete gamma function P(n + 1, mean), by its series below n + 2 and by the continued
/// fraction of its complement (modified Lentz) above. Answers that are 0 or 1 to the last bit take
/// neither: the sum of the series is below 2, the fraction below 1/2.
double poisson_tail(int n, double mean, double log_mean, double log_factorial_n) {
  constexpr double kNothing = -746;    // its exponential is 0
  constexpr double kOutOfSight = -40;  // .. is below 2^-57
  const double shape = n + 1.0;
  const double log_front = shape * log_mean - mean - log_factorial_n;
  if (mean < shape + 1) {
    if (log_front < kNothing) return 0;
    double term = 1 / shape;
    double sum = term;
    for (double k = shape + 1; term > sum * 1e-17; k += 1) {
      term *= mean / k;
      sum += term;
    }
    return std::min(1.0, sum * std::exp(log_front));
  }
  if (log_front < kOutOfSight) return 1;
  constexpr double kTiny = 1e-300;
  double b = mean + 1 - shape;
  double c = 1 / kTiny;
  double d = 1 / b;
  double fraction = d;
  for (double i = 1; i < 100000; i += 1) {
    const double a = -i * (i - shape);
    b += 2;
    d = a * d + b;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    c = b + a / c;
    if (std::abs(c) < kTiny) c = kTiny;
    const double step = d * c;
    fraction *= step;
    if (std::abs(step - 1) < 1e-15) break;
  }
  return std::clamp(1 - std::exp(log_front) * fraction, 0.0, 1.0);
}

/// Weights ((rank + shift) / q)^-alpha of the ranks 1, 2, ..: never above 1, so that no exponent
/// overflows. Zipf's law has q = 1, shift = 0.
struct ZipfWeights {
  double alpha;
  double q;
  double shift;  ///< q - 1

  [[nodiscard]] double log_of(double rank) const { return -alpha * std::log((rank + shift) / q); }
  [[nodiscard]] double of(double rank) const { return std::pow((rank + shift) / q, -alpha); }
  [[nodiscard]] double sum(double rows) const;
};

/// Sum of the weights of ranks 1..rows: the first one by one, the rest by Euler-Maclaurin.
double ZipfWeights::sum(double rows) const {
  constexpr double kExact = 256;
  double sum = 0;
  for (double r = std::min(rows, kExact); r >= 1; r -= 1) sum += of(r);
  if (rows <= kExact) return sum;
  const double begin = (kExact + shift) / q;
  const double end = (rows + shift) / q;
  const double span = std::log(end / begin);
  const double exponent = (1 - alpha) * span;
  const double integral = q * std::pow(begin, 1 - alpha) *
                          (std::abs(exponent) < 1e-12 ? span : std::expm1(exponent) / (1 - alpha));
  return sum + integral + (of(rows) - of(kExact)) / 2 +
         alpha * (of(kExact) / (q * begin) - of(rows) / (q * end)) / 12;
}

using LogFactorials = std::array<double, kTails>;  ///< of the thresholds

LogFactorials log_factorials() {
  LogFactorials logs{};
  for (int k = 0; k < kTails; ++k) logs[static_cast<std::size_t>(k)] = log_factorial(1 << k);
  return logs;
}

/// Of a row of mean count `mean`: how likely it is in each bin.
ReuseHistogram shares_of(double mean, const LogFactorials& log_factorials) {
  ReuseHistogram shares{};
  const double log_mean = std::log(mean);
  double above = -std::expm1(-mean);  // P(N > 0)
  for (int k = 0; k < kTails && above > 0; ++k) {
    const auto bin = static_cast<std::size_t>(k);
    const double tail = poisson_tail(1 << k, mean, log_mean, log_factorials[bin]);
    shares[bin] = std::max(0.0, above - tail);
    above = tail;
  }
  shares[kTails] = above;
  return shares;
}

/// Expected numbers of rows per bin, collected from rows of equal mean count.
class ExpectedCounts {
 public:
  /// `rows` rows (a weight, not necessarily whole) of mean count `mean`.
  void add(double mean, double rows) {
    if (mean != mean_) find_shares(mean);
    for (std::size_t k = 0; k < bins_.size(); ++k) bins_[k] += rows * shares_[k];
  }
  void add_to_last_bin(double rows) { bins_[kTails] += rows; }

  [[nodiscard]] ReuseExpectation expectation(double rows, double lookups) const {
    ReuseExpectation result;
    double sum = 0;
    for (const double count : bins_) sum += count;
    if (!(sum > 0)) return result;
    for (std::size_t k = 0; k < bins_.size(); ++k) result.histogram[k] = bins_[k] / sum;
    result.distinct_rows = std::min({sum, rows, lookups});
    return result;
  }

 private:
  void find_shares(double mean) {
    mean_ = mean;
    shares_ = shares_of(mean, log_factorial_);
  }

  const LogFactorials log_factorial_ = log_factorials();
  double mean_ = 0;  ///< of shares_; uniform lookups have one for all rows
  ReuseHistogram shares_{};
  ReuseHistogram bins_{};
};

/// Groups of up to this many ranks are added rank by rank.
constexpr double kFew = 32;

/// Adds the ranks in [begin, end) as one group: one by one when few, else by 8-point
/// Gauss-Legendre quadrature of the sum's midpoint integral over [begin - 1/2, end - 1/2].
template <typename Mean>
void add_group(double begin, double end, const Mean& mean, ExpectedCounts& counts) {
  if (end - begin <= kFew) {
    for (double r = begin; r < end; r += 1) counts.add(mean(r), 1);
    return;
  }
  constexpr double kNodes[4] = {0.18343464249564980, 0.52553240991632899, 0.79666647741362674,
                                0.96028985649753623};
  constexpr double kWeights[4] = {0.36268378337836198, 0.31370664587788729, 0.22238103445337447,
                                  0.10122853629037626};
  const double half = (end - begin) / 2;
  const double center = begin - 0.5 + half;
  for (int i = 0; i < 4; ++i) {
    counts.add(mean(center - half * kNodes[i]), half * kWeights[i]);
    counts.add(mean(center + half * kNodes[i]), half * kWeights[i]);
  }
}

/// A share of the rows with that count, which no bin's centre may be: the bins next to it get so
/// much each that their mean is the count.
void add_at_mean(double count, double share, ReuseHistogram& histogram) {
  int above = 1;
  while (above < kReuseBins - 1 && reuse_bin_center(above) < count) ++above;
  const double low = reuse_bin_center(above - 1);
  const double up = std::clamp((count - low) / (reuse_bin_center(above) - low), 0.0, 1.0);
  histogram[static_cast<std::size_t>(above - 1)] += share * (1 - up);
  histogram[static_cast<std::size_t>(above)] += share * up;
}

}  // namespace

ReuseBinRange reuse_bin_range(int bin) {
  if (bin == 0) return {1, 1};
  const std::int64_t low = (std::int64_t{1} << (bin - 1)) + 1;
  if (bin == kReuseBins - 1) return {low, std::numeric_limits<std::int64_t>::max()};
  return {low, std::int64_t{1} << bin};
}

double reuse_bin_center(int bin) {
  if (bin == kReuseBins - 1) return 49152;
  const ReuseBinRange range = reuse_bin_range(bin);
  return std::sqrt(static_cast<double>(range.low) * static_cast<double>(range.high));
}

namespace {

/// Adds `rows` rows that share `lookups` lookups by these weights.
void add_zipf(double rows, double lookups, const ZipfWeights& weights, ExpectedCounts& counts) {
  const double log_scale = std::log(lookups) - std::log(weights.sum(rows));
  const auto mean = [&](double rank) { return std::exp(log_scale + weights.log_of(rank)); };

  // The hottest ranks are in the last bin for certain; where that ends follows from mean(rank).
  const double log_excess = log_scale - std::log(kCertainMean);
  double certain = 0;
  if (log_excess >= 0) {
    certain = weights.alpha > 0
                  ? std::floor(weights.q * std::exp(std::min(log_excess / weights.alpha, 700.0)) -
                               weights.shift)
                  : rows;
    certain = std::clamp(certain, 0.0, rows);
  }
  counts.add_to_last_bin(certain);

  // A Poisson count spreads over sqrt(mean): groups in which the mean changes by at most two of
  // these spreads, and the rank at most doubles, are smooth enough for the quadrature.
  // Above 2^53 rows n + 1 rounds to n: the loop runs up to `last`, so that it always ends.
  const double last = rows + 1;
  for (double begin = certain + 1; begin < last;) {
    const double log_width = 2 / std::sqrt(std::max(1.0, mean(begin)));
    const double growth = weights.alpha > 0 ? std::min(std::numbers::ln2, log_width / weights.alpha)
                                            : std::numbers::ln2;
    const double end = std::min(last, std::max(begin + kFew, std::floor(begin * std::exp(growth))));
    add_group(begin, end, mean, counts);
    begin = end;
  }
}

}  // namespace

ReuseExpectation expected_reuse(std::int64_t rows, double lookups, double zipf_alpha) {
  return expected_reuse(rows, lookups, IndexLaw{{}, 1, zipf_alpha});
}

ReuseExpectation expected_reuse(std::int64_t rows, double lookups, const IndexLaw& law) {
  if (!(lookups > 0)) return {};
  ExpectedCounts counts;
  double left = 1;
  for (const double probability : law.heavy_hitters) {
    counts.add(lookups * probability, 1);
    left -= probability;
  }
  const auto hitters = static_cast<double>(law.heavy_hitters.size());
  const auto n = static_cast<double>(rows);
  const double q = law.zipf_q + hitters;
  if (left > 1e-12 && n > hitters) {
    add_zipf(n - hitters, lookups * left, {law.zipf_s, q, q - 1}, counts);
  }
  return counts.expectation(n, lookups);
}

ReuseHistogram poisson_bins(double mean) { return shares_of(mean, log_factorials()); }

ReuseHistogram thinned_reuse(const ReuseHistogram& histogram, double lookups, std::int64_t rows,
                             double share) {
  ReuseHistogram thinned{};
  const double distinct = distinct_rows(histogram, lookups, rows);
  if (!(distinct > 0) || share >= 1) return histogram;
  const double scale = lookups / distinct / mean_reuse(histogram);
  double all = 0;
  for (int bin = 0; bin < kReuseBins; ++bin) {
    const double count = std::max(1.0, reuse_bin_center(bin) * scale);
    const double seen = -std::expm1(count * std::log1p(-share));
    const double rows_seen = histogram[static_cast<std::size_t>(bin)] * seen;
    add_at_mean(count * share / seen, rows_seen, thinned);
    all += rows_seen;
  }
  for (double& part : thinned) part /= all;
  return thinned;
}

double mean_reuse(const ReuseHistogram& histogram) {
  double mean = 0;
  for (int bin = 0; bin < kReuseBins; ++bin) {
    mean += histogram[static_cast<std::size_t>(bin)] * reuse_bin_center(bin);
  }
  return mean;
}

double distinct_rows(const ReuseHistogram& histogram, double lookups, std::int64_t rows) {
  const double mean = mean_reuse(histogram);
  if (!(mean > 0)) return 0;
  return std::min(lookups / mean, static_cast<double>(rows));
}

}  // namespace neuroshard
