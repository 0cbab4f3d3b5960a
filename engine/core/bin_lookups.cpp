#include "engine/core/bin_lookups.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace neuroshard {
namespace {

constexpr std::size_t kSingleCounts = 2;  // bins of one count
constexpr double kZipf = 2;  // how steep the density of counts is where rank x count is constant
constexpr double kGentlest = -2;
constexpr double kSteepest = 6;

/// Counts of a bin as a range of real ones.
struct CountRange {
  double begin;
  double end;
};

CountRange range_of(std::size_t bin) {
  const ReuseBinRange range = reuse_bin_range(static_cast<int>(bin));
  const auto low = static_cast<double>(range.low);
  // The last bin has no end. Its centre is of a range like those below.
  const double high = bin == kReuseBins - 1 ? 2 * (low - 1) : static_cast<double>(range.high);
  return {low - 0.5, high + 0.5};
}

/// Integral of count^exponent.
double power_integral(const CountRange& range, double exponent) {
  const double power = exponent + 1;
  if (std::abs(power) < 1e-9) return std::log(range.end / range.begin);
  return (std::pow(range.end, power) - std::pow(range.begin, power)) / power;
}

/// -d ln(rows per count) / d ln(count) around a bin, by the bins beside it that have rows.
double steepness(const ReuseHistogram& histogram, std::size_t bin) {
  const auto has_rows = [&](std::size_t other) { return histogram[other] > 0; };
  const std::size_t from = bin > 0 && has_rows(bin - 1) ? bin - 1 : bin;
  const std::size_t to = bin + 1 < kReuseBins && has_rows(bin + 1) ? bin + 1 : bin;
  if (from == to) return kZipf;
  const auto log_density = [&](std::size_t other) {
    const CountRange range = range_of(other);
    return std::log(histogram[other] / (range.end - range.begin));
  };
  const auto log_count = [](std::size_t other) {
    return std::log(reuse_bin_center(static_cast<int>(other)));
  };
  const double steep = (log_density(from) - log_density(to)) / (log_count(to) - log_count(from));
  return std::clamp(steep, kGentlest, kSteepest);
}

/// Of a row of the bin: the mean count, and of it what rows of the lowest count have.
struct RowCount {
  double mean = 0;
  double least = 0;
};

RowCount count_in(const ReuseHistogram& histogram, std::size_t bin) {
  const auto low = static_cast<double>(reuse_bin_range(static_cast<int>(bin)).low);
  if (bin < kSingleCounts) return {low, low};
  const CountRange range = range_of(bin);
  const double steep = steepness(histogram, bin);
  const double rows = power_integral(range, -steep);
  const double lowest = power_integral({low - 0.5, low + 0.5}, -steep);
  return {power_integral(range, 1 - steep) / rows, low * lowest / rows};
}

/// Rows that a batch with those bins looks up, by the lookups that were counted of them: of a bin
/// with one count, if there are rows in one, or of all. A later batch is taken to look up as many.
double counted_distinct(const Table& table, const BinLookups& bins,
                        const std::array<RowCount, kReuseBins>& counts) {
  double rows = 0;
  for (std::size_t bin = 0; bin < kReuseBins; ++bin) {
    const double share = table.reuse_histogram[bin];
    const double own = bins.lookups[bin] / table.hot_coverage.lookups[0] / counts[bin].mean;
    if (bin < kSingleCounts && share > 0) return own / share;
    rows += own;
  }
  return rows;
}

}  // namespace

BinLookups bin_lookups(const Table& table, std::int64_t batch_size) {
  BinLookups bins;
  std::array<RowCount, kReuseBins> counts;
  const double lookups = static_cast<double>(batch_size) * table.pooling_factor;
  double mean = 0;
  for (std::size_t bin = 0; bin < kReuseBins; ++bin) {
    counts[bin] = count_in(table.reuse_histogram, bin);
    mean += table.reuse_histogram[bin] * counts[bin].mean;
  }
  if (!(mean > 0) || !(lookups > 0)) return bins;
  const HotCoverage& counted = table.hot_coverage;
  for (std::size_t bin = 0; bin < kReuseBins; ++bin) {
    const double above = bin + 1 < kReuseBins ? counted.lookups[bin + 1] : 0;
    bins.lookups[bin] =
        lookups * (counted.known() ? counted.lookups[bin] - above
                                   : table.reuse_histogram[bin] * counts[bin].mean / mean);
  }
  const double distinct = counted.known() ? counted_distinct(table, bins, counts) : lookups / mean;
  bins.distinct = std::min(distinct, static_cast<double>(table.rows));
  for (std::size_t bin = 0; bin < kReuseBins; ++bin) {
    bins.rows[bin] = bins.distinct * table.reuse_histogram[bin];
    bins.least[bin] = bins.lookups[bin] * counts[bin].least / counts[bin].mean;
  }
  return bins;
}

}  // namespace neuroshard
