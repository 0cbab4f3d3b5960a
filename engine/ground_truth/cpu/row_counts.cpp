#include "engine/ground_truth/cpu/row_counts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace neuroshard {
namespace {

using BinRows = std::array<std::int64_t, kReuseBins>;

std::int64_t highest_count(int bin) {
  // The last bin has no end; counts up to twice its centre keep its mean reachable.
  return bin == kReuseBins - 1 ? std::int64_t{98304} : reuse_bin_range(bin).high;
}

/// Whole rows per bin, `distinct` in all, by largest remainder.
BinRows apportion(const ReuseHistogram& histogram, std::int64_t distinct) {
  BinRows rows{};
  std::array<double, kReuseBins> remainder{};
  std::int64_t given = 0;
  const double sum = std::accumulate(histogram.begin(), histogram.end(), 0.0);
  for (std::size_t bin = 0; bin < rows.size(); ++bin) {
    const double exact = histogram[bin] / sum * static_cast<double>(distinct);
    rows[bin] = std::min(static_cast<std::int64_t>(exact), distinct - given);
    remainder[bin] = exact - static_cast<double>(rows[bin]);
    given += rows[bin];
  }
  while (given < distinct) {
    const auto most = std::max_element(remainder.begin(), remainder.end());
    *most -= 1;
    ++rows[static_cast<std::size_t>(most - remainder.begin())];
    ++given;
  }
  return rows;
}

/// Count of the j-th of `rows` rows of a bin: from its low to its high end in equal ratios, leaning
/// to the low end for skew > 1 and to the high end for skew < 1.
std::int64_t count_in_bin(int bin, std::int64_t j, std::int64_t rows, double skew) {
  const auto low = static_cast<double>(reuse_bin_range(bin).low);
  const auto high = static_cast<double>(highest_count(bin));
  const double place = (static_cast<double>(j) + 0.5) / static_cast<double>(rows);
  const double count = low * std::pow(high / low, std::pow(place, skew));
  return std::clamp(static_cast<std::int64_t>(std::llround(count)), reuse_bin_range(bin).low,
                    highest_count(bin));
}

std::vector<std::int64_t> counts_with_skew(const BinRows& bins, double skew) {
  std::vector<std::int64_t> counts;
  for (int bin = 0; bin < kReuseBins; ++bin) {
    const std::int64_t rows = bins[static_cast<std::size_t>(bin)];
    if (reuse_bin_range(bin).low == highest_count(bin)) {  // most rows are in such a bin
      counts.insert(counts.end(), static_cast<std::size_t>(rows), highest_count(bin));
      continue;
    }
    for (std::int64_t j = 0; j < rows; ++j) counts.push_back(count_in_bin(bin, j, rows, skew));
  }
  return counts;
}

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

/// The total for a skew without building the counts: few bins, so rows of equal count dominate.
double total_with_skew(const BinRows& bins, double skew) {
  constexpr std::int64_t kSteps = 64;
  double total = 0;
  for (int bin = 0; bin < kReuseBins; ++bin) {
    const std::int64_t rows = bins[static_cast<std::size_t>(bin)];
    const std::int64_t steps = std::min(rows, kSteps);
    for (std::int64_t j = 0; j < steps; ++j) {
      total += static_cast<double>(count_in_bin(bin, j, steps, skew)) * static_cast<double>(rows) /
               static_cast<double>(steps);
    }
  }
  return total;
}

double fitting_skew(const BinRows& bins, double lookups) {
  double low = -8;  // log2 of the skew
  double high = 8;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (total_with_skew(bins, std::exp2(middle)) > lookups ? low : high) = middle;
  }
  return std::exp2((low + high) / 2);
}

/// Moves the counts by single lookups inside their bins until they add up to `lookups` or no bin
/// has room; returns what is still missing (or too much, negative).
std::int64_t settle_inside_bins(const BinRows& bins, std::vector<std::int64_t>& counts,
                                std::int64_t missing) {
  std::size_t first = counts.size();
  for (int bin = kReuseBins - 1; bin >= 0 && missing != 0; --bin) {
    const auto rows = static_cast<std::size_t>(bins[static_cast<std::size_t>(bin)]);
    first -= rows;
    const std::int64_t low = reuse_bin_range(bin).low;
    const std::int64_t high = highest_count(bin);
    for (std::size_t row = first; row < first + rows && missing != 0; ++row) {
      const std::int64_t moved = std::clamp(counts[row] + missing, low, high) - counts[row];
      // A fair part each, so that no single row takes the whole difference.
      const std::int64_t left = static_cast<std::int64_t>(first + rows - row);
      const std::int64_t part = missing / left + (missing % left > 0) - (missing % left < 0);
      const std::int64_t step = missing > 0 ? std::min(moved, part) : std::max(moved, part);
      counts[row] += step;
      missing -= step;
    }
  }
  return missing;
}

/// Last resort for contradicting shares: every row takes its part of the difference, hot rows more.
void settle_across_bins(std::vector<std::int64_t>& counts, std::int64_t missing) {
  if (missing > 0) {
    const auto total = static_cast<double>(sum_of(counts));
    std::int64_t given = 0;
    for (std::int64_t& count : counts) {
      const auto part = static_cast<std::int64_t>(static_cast<double>(missing) *
                                                  (static_cast<double>(count) / total));
      count += part;
      given += part;
    }
    counts.back() += missing - given;
    return;
  }
  for (auto count = counts.rbegin(); count != counts.rend() && missing < 0; ++count) {
    const std::int64_t taken = std::min(-missing, *count - 1);
    *count -= taken;
    missing += taken;
  }
}

/// How far the shares of `distinct` rows are from whole rows, in rows.
double rounding(const ReuseHistogram& histogram, std::int64_t distinct) {
  double sum = 0;
  for (const double share : histogram) {
    const double rows = share * static_cast<double>(distinct);
    sum += std::abs(rows - std::round(rows));
  }
  return sum;
}

/// Number of distinct rows: `expected`, unless the shares are those of a counted batch, which give
/// away its number of rows: the nearest one that makes all of them whole. Only for few rows, where
/// one row more or less changes the shares.
std::int64_t choose_distinct(const ReuseHistogram& histogram, double expected, std::int64_t most) {
  constexpr double kFew = 4096;
  const auto nearest = std::clamp<std::int64_t>(std::llround(expected), 1, most);
  if (expected > kFew) return nearest;
  const auto farthest = static_cast<std::int64_t>(expected) + 2;
  for (std::int64_t away = 0; away <= farthest; ++away) {
    for (const std::int64_t distinct : {nearest - away, nearest + away}) {
      if (distinct < 1 || distinct > most) continue;
      if (rounding(histogram, distinct) < 1e-6) return distinct;
    }
  }
  return nearest;
}

}  // namespace

std::vector<std::int64_t> row_counts(const ReuseHistogram& histogram, std::int64_t lookups,
                                     std::int64_t rows) {
  if (lookups <= 0) return {};
  const auto n = static_cast<double>(lookups);
  const double expected = distinct_rows(histogram, n, rows);
  const std::int64_t most = std::min(lookups, rows);
  const std::int64_t distinct = expected > 0 ? choose_distinct(histogram, expected, most) : most;
  if (!(expected > 0)) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(distinct), lookups / distinct);
    settle_across_bins(counts, lookups - sum_of(counts));
    return counts;
  }
  const BinRows bins = apportion(histogram, distinct);
  std::vector<std::int64_t> counts = counts_with_skew(bins, fitting_skew(bins, n));
  const std::int64_t missing = settle_inside_bins(bins, counts, lookups - sum_of(counts));
  if (missing != 0) settle_across_bins(counts, missing);
  return counts;
}

}  // namespace neuroshard
