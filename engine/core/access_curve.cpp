#include "engine/core/access_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace neuroshard {
namespace {

constexpr std::array kShares{0.0,  0.0025, 0.005, 0.0075, 0.01,  0.015, 0.02,  0.025, 0.03,
                             0.04, 0.05,   0.06,  0.07,   0.085, 0.1,   0.125, 0.15,  0.175,
                             0.2,  0.225,  0.25,  0.275,  0.3,   0.35,  0.4,   0.45,  0.5,
                             0.55, 0.6,    0.7,   0.8,    0.895, 0.99,  1.0};

/// Rates of lookups a batch: half octaves from 2^-14 to 2^17. Rows of a batch that are rarer than
/// the first are in no cache anyway.
constexpr int kFirstHalfOctave = -28;
constexpr std::size_t kRates = 63;

/// Rounds of expectation-maximisation. More fit the histogram better and the rows that it does not
/// show worse: of 13 laws of 10^3 to 10^8 rows and slopes of 0 to 1.3, 60 to 120 came nearest to
/// the curve of the law itself, flat ones with more.
constexpr int kRounds = 120;

/// Of the rate at which the power law would have the rarest rows: what came nearest there, too.
constexpr double kRarest = 0.7;

/// Of rows that no lookup of a batch takes, then by bin.
using Counts = std::array<double, kReuseBins + 1>;

/// The rates, and how likely a row of each has each count.
struct RateGrid {
  std::array<double, kRates> rates{};
  std::array<Counts, kRates> chances{};
  /// Counts [first, last] are those that are not out of the question.
  std::array<std::size_t, kRates> first{};
  std::array<std::size_t, kRates> last{};

  RateGrid() {
    for (std::size_t g = 0; g < kRates; ++g) {
      rates[g] = std::pow(2.0, (kFirstHalfOctave + static_cast<double>(g)) / 2);
      const ReuseHistogram bins = poisson_bins(rates[g]);
      chances[g][0] = std::exp(-rates[g]);
      std::copy(bins.begin(), bins.end(), chances[g].begin() + 1);
      const auto likely = [](double chance) { return chance > 1e-15; };
      const auto begin = chances[g].begin();
      first[g] = static_cast<std::size_t>(std::find_if(begin, chances[g].end(), likely) - begin);
      last[g] = kReuseBins;
      while (!likely(chances[g][last[g]])) --last[g];
    }
  }
};

const RateGrid& rate_grid() {
  static const RateGrid grid;
  return grid;
}

/// -d ln(rate) / d ln(rank) of the hot rows: the power law that they are nearest to.
double slope_of(const Counts& rows) {
  constexpr std::size_t kFrom = 2;  // counts above 4: of fewer, chance decides
  constexpr std::size_t kTo = 12;
  std::vector<std::array<double, 2>> points;  // ln(rank), ln(rate)
  double rank = 0;
  for (std::size_t bin = kReuseBins - 1; bin >= 1; --bin) {
    rank += rows[bin + 1];
    const double least = std::pow(2.0, static_cast<double>(bin) - 1) + 0.5;
    if (rank >= 1) points.push_back({std::log(rank), std::log(least)});
  }
  std::reverse(points.begin(), points.end());
  if (points.size() < 2) return 1;
  const std::size_t to = std::min(kTo, points.size() - 1);
  const std::size_t from = std::min(kFrom, to - 1);
  const double ranks = std::max(1e-9, points[from][0] - points[to][0]);
  return std::clamp((points[to][1] - points[from][1]) / ranks, 0.1, 2.0);
}

/// Where the rounds begin: rows that follow the power law of the hot ones down to the last.
std::array<double, kRates> power_law(const Counts& rows, double table_rows, double lookups) {
  const double slope = slope_of(rows);
  double again = 0;  // rows with two lookups or more
  for (std::size_t bin = 1; bin < kReuseBins; ++bin) again += rows[bin + 1];
  const double rarest =
      again > 0 ? std::min(kRarest * std::pow(again / table_rows, slope), 1.0) : 1e-3;
  std::array<double, kRates> shares{};
  double sum = 0;
  for (std::size_t g = 0; g < kRates; ++g) {
    const double rate = rate_grid().rates[g];
    if (rate < rarest || rate > std::max(4 * lookups, 8.0)) continue;
    sum += shares[g] = std::pow(rate, -1 / slope);
  }
  for (double& share : shares) share /= sum;
  return shares;
}

/// Which share of the rows has each rate.
std::array<double, kRates> likeliest_rates(Counts rows, double table_rows, double lookups) {
  std::array<double, kRates> shares = power_law(rows, table_rows, lookups);
  for (double& count : rows) count /= table_rows;
  const RateGrid& grid = rate_grid();
  for (int round = 0; round < kRounds; ++round) {
    Counts expected{};
    for (std::size_t g = 0; g < kRates; ++g) {
      if (!(shares[g] > 0)) continue;
      for (std::size_t k = grid.first[g]; k <= grid.last[g]; ++k) {
        expected[k] += shares[g] * grid.chances[g][k];
      }
    }
    Counts more{};
    for (std::size_t k = 0; k < more.size(); ++k) {
      if (expected[k] > 0) more[k] = rows[k] / expected[k];
    }
    for (std::size_t g = 0; g < kRates; ++g) {
      double times = 0;
      for (std::size_t k = grid.first[g]; k <= grid.last[g]; ++k) {
        times += grid.chances[g][k] * more[k];
      }
      shares[g] *= times;
    }
  }
  return shares;
}

struct Point {
  double rows = 0;  ///< share in the cache
  double hits = 0;  ///< share of the lookups
};

/// Of caches that keep a row for so many batches after its last lookup.
Point cache_for(const std::array<double, kRates>& shares, double batches) {
  const RateGrid& grid = rate_grid();
  Point point;
  double rows = 0;
  double lookups = 0;
  for (std::size_t g = 0; g < kRates; ++g) {
    if (!(shares[g] > 0)) continue;
    const double lookups_since = grid.rates[g] * batches;
    const double there = lookups_since > 40 ? shares[g] : shares[g] * -std::expm1(-lookups_since);
    point.rows += there;
    point.hits += there * grid.rates[g];
    rows += shares[g];
    lookups += shares[g] * grid.rates[g];
  }
  return {point.rows / rows, point.hits / lookups};
}

double on_line(const Point& a, const Point& b, double rows) {
  if (!(b.rows > a.rows)) return b.hits;
  return a.hits + (b.hits - a.hits) * (rows - a.rows) / (b.rows - a.rows);
}

}  // namespace

std::span<const double> access_curve_shares() { return kShares; }

AccessCurve::AccessCurve(const ReuseHistogram& histogram, double lookups, std::int64_t rows)
    : hits_(kShares.begin(), kShares.end()) {
  const double distinct = distinct_rows(histogram, lookups, rows);
  if (!(distinct > 0)) return;
  const auto table_rows = static_cast<double>(rows);
  Counts counted{table_rows - distinct};
  for (std::size_t bin = 0; bin < kReuseBins; ++bin) counted[bin + 1] = histogram[bin] * distinct;
  const std::array<double, kRates> shares = likeliest_rates(counted, table_rows, lookups);

  // From caches that keep nothing for long to those that forget nothing.
  constexpr double kSteps = 4;  // an octave
  Point before;
  std::size_t at = 1;
  for (int step = -20 * 4; at + 1 < kShares.size(); ++step) {
    const bool last = step > 24 * 4;
    const Point next = last ? Point{1, 1} : cache_for(shares, std::pow(2.0, step / kSteps));
    for (; at + 1 < kShares.size() && (last || next.rows >= kShares[at]); ++at) {
      hits_[at] = std::clamp(on_line(before, next, kShares[at]), kShares[at], 1.0);
    }
    before = next;
  }
}

double AccessCurve::hits(double cached_share) const {
  const auto above = std::lower_bound(kShares.begin(), kShares.end(), cached_share);
  const auto next = static_cast<std::size_t>(above - kShares.begin());
  if (next == 0) return hits_.front();
  if (next >= kShares.size()) return hits_.back();
  return on_line({kShares[next - 1], hits_[next - 1]}, {kShares[next], hits_[next]}, cached_share);
}

}  // namespace neuroshard
