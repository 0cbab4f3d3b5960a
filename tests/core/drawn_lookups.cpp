#include "tests/core/drawn_lookups.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace neuroshard::test {
namespace {

/// By multiplication of uniform numbers: for small means.
std::int64_t poisson(Rng& rng, double mean) {
  const double limit = std::exp(-mean);
  std::int64_t count = 0;
  for (double product = rng.uniform(); product > limit; product *= rng.uniform()) ++count;
  return count;
}

std::int64_t bag_length(Rng& rng, BagKind kind, double mean) {
  switch (kind) {
    case BagKind::kPoisson:
      return poisson(rng, mean);
    case BagKind::kOneHot:
      return rng.uniform() < mean ? 1 : 0;
    case BagKind::kFixed:
      break;
  }
  return std::llround(mean);
}

std::size_t bin_of(std::int64_t count) {
  int bin = 0;
  while (count > reuse_bin_range(bin).high) ++bin;
  return static_cast<std::size_t>(bin);
}

/// Of each bin, with those above it.
void add_up_from_the_last(ReuseHistogram& shares, double all) {
  double above = 0;
  for (std::size_t bin = shares.size(); bin-- > 0;) {
    above += shares[bin];
    shares[bin] = bin == 0 ? 1 : above / all;
  }
}

}  // namespace

ZipfRows::ZipfRows(std::int64_t rows, double exponent) {
  double sum = 0;
  for (std::int64_t row = 1; row <= rows; ++row) {
    below_.push_back(sum += std::pow(static_cast<double>(row), -exponent));
  }
  for (double& each : below_) each /= sum;
}

std::int64_t ZipfRows::draw(Rng& rng) const {
  const auto found = std::upper_bound(below_.begin(), below_.end() - 1, rng.uniform());
  return found - below_.begin();
}

DrawnBags draw_bags(Rng& rng, const ZipfRows& rows, std::int64_t bags, BagKind kind,
                    double lookups) {
  DrawnBags drawn(static_cast<std::size_t>(bags));
  for (auto& bag : drawn) {
    for (std::int64_t k = bag_length(rng, kind, lookups); k > 0; --k) bag.push_back(rows.draw(rng));
  }
  return drawn;
}

CountedBatch::CountedBatch(const DrawnBags& bags, std::int64_t rows)
    : counts(static_cast<std::size_t>(rows)) {
  double lookups = 0;
  for (const auto& bag : bags) {
    lookups += static_cast<double>(bag.size());
    for (const std::int64_t row : bag) ++counts[static_cast<std::size_t>(row)];
  }
  table.name = "drawn";
  table.rows = rows;
  table.dim = 16;
  table.pooling_factor = lookups / static_cast<double>(bags.size());
  double distinct = 0;
  for (const std::int64_t own : counts) {
    if (own == 0) continue;
    distinct += 1;
    table.reuse_histogram[bin_of(own)] += 1;
    table.hot_coverage.lookups[bin_of(own)] += static_cast<double>(own);
  }
  for (double& share : table.reuse_histogram) share /= distinct;
  for (const auto& bag : bags) {
    std::size_t least = kReuseBins - 1;
    for (const std::int64_t row : bag) {
      least = std::min(least, bin_of(counts[static_cast<std::size_t>(row)]));
    }
    table.hot_coverage.bags[least] += 1;
  }
  add_up_from_the_last(table.hot_coverage.lookups, lookups);
  add_up_from_the_last(table.hot_coverage.bags, static_cast<double>(bags.size()));
}

std::vector<bool> CountedBatch::hottest(std::int64_t rows) const {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  std::vector<bool> hot(counts.size());
  for (std::int64_t k = 0; k < rows; ++k) hot[order[static_cast<std::size_t>(k)]] = true;
  return hot;
}

HotUse use_of(const DrawnBags& bags, const std::vector<bool>& hot) {
  HotUse use;
  double lookups = 0;
  for (const auto& bag : bags) {
    bool cold = false;
    lookups += static_cast<double>(bag.size());
    for (const std::int64_t row : bag) {
      const bool own = hot[static_cast<std::size_t>(row)];
      use.lookups += own ? 1 : 0;
      cold = cold || !own;
    }
    use.cold_bags += cold ? 1 : 0;
  }
  use.lookups /= lookups;
  use.cold_bags /= static_cast<double>(bags.size());
  return use;
}

}  // namespace neuroshard::test
