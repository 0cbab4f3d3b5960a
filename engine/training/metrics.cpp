#include "engine/training/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard {
namespace {

using Pair = std::pair<double, double>;

std::int64_t pairs_of(std::int64_t n) { return n * (n - 1) / 2; }

// Pairs of neighbours-in-order that `same` holds equal, summed over the runs of equals.
template <typename Same>
std::int64_t tied_pairs(const std::vector<Pair>& values, const Same& same) {
  std::int64_t ties = 0;
  for (std::size_t begin = 0; begin < values.size();) {
    std::size_t end = begin + 1;
    while (end < values.size() && same(values[begin], values[end])) ++end;
    ties += pairs_of(static_cast<std::int64_t>(end - begin));
    begin = end;
  }
  return ties;
}

// Sorts by the second value, bottom up, and counts the exchanges of unequal neighbours it takes.
std::int64_t sort_and_count_swaps(std::vector<Pair>& values) {
  std::vector<Pair> merged(values.size());
  std::int64_t swaps = 0;
  for (std::size_t width = 1; width < values.size(); width *= 2) {
    for (std::size_t begin = 0; begin < values.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, values.size());
      const std::size_t end = std::min(begin + 2 * width, values.size());
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t out = begin; out < end; ++out) {
        if (right == end || (left < middle && values[left].second <= values[right].second)) {
          merged[out] = values[left++];
        } else {
          swaps += static_cast<std::int64_t>(middle - left);
          merged[out] = values[right++];
        }
      }
    }
    values.swap(merged);
  }
  return swaps;
}

}  // namespace

double kendall_tau(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  std::vector<Pair> values;
  values.reserve(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) values.emplace_back(a[i], b[i]);
  std::sort(values.begin(), values.end());
  const auto same_first = [](const Pair& x, const Pair& y) { return x.first == y.first; };
  const auto same_second = [](const Pair& x, const Pair& y) { return x.second == y.second; };
  const std::int64_t ties_a = tied_pairs(values, same_first);
  const std::int64_t ties_both = tied_pairs(values, [](auto& x, auto& y) { return x == y; });
  const std::int64_t swaps = sort_and_count_swaps(values);
  const std::int64_t ties_b = tied_pairs(values, same_second);
  const std::int64_t total = pairs_of(static_cast<std::int64_t>(values.size()));
  if (total == ties_a || total == ties_b) return Metrics::kUnknown;
  const std::int64_t concordant_less_discordant = total - ties_a - ties_b + ties_both - 2 * swaps;
  const double untied = static_cast<double>(total - ties_a) * static_cast<double>(total - ties_b);
  return static_cast<double>(concordant_less_discordant) / std::sqrt(untied);
}

double conformal_half_width(std::span<const double> predicted, std::span<const double> measured) {
  assert(predicted.size() == measured.size());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> scores;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double gap = std::abs(measured[i] - predicted[i]);
    scores.push_back(gap == 0 ? 0 : predicted[i] > 0 ? gap / predicted[i] : kInfinity);
  }
  const std::size_t n = scores.size();
  // ceil(0.9 (n + 1)), in integers: rounding must not move a rank.
  const std::size_t rank = (9 * (n + 1) + 9) / 10;
  if (rank > n) return kInfinity;
  const auto at = scores.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(scores.begin(), at, scores.end());
  return *at;
}

double coverage_of(double share, std::span<const double> predicted,
                   std::span<const double> measured) {
  if (measured.empty()) return Metrics::kUnknown;
  std::int64_t inside = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double gap = std::abs(measured[i] - predicted[i]);
    inside += gap == 0 || (predicted[i] > 0 && gap / predicted[i] <= share) ? 1 : 0;
  }
  return static_cast<double>(inside) / static_cast<double>(measured.size());
}

void judge_interval(std::optional<double> known, std::span<const double> predicted,
                    std::span<const double> measured, Metrics& metrics) {
  std::vector<double> first[2];
  std::vector<double> second[2];
  if (known) {
    metrics.interval = *known;
    metrics.coverage = coverage_of(*known, predicted, measured);
    return;
  }
  std::vector<std::size_t> order(measured.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Rng rng(0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& half = i < order.size() / 2 ? first : second;
    half[0].push_back(predicted[order[i]]);
    half[1].push_back(measured[order[i]]);
  }
  const double share = conformal_half_width(first[0], first[1]);
  if (!std::isfinite(share)) return;
  metrics.interval = share;
  metrics.coverage = coverage_of(share, second[0], second[1]);
}

Metrics measure_fit(std::span<const double> predicted, std::span<const double> measured) {
  assert(predicted.size() == measured.size());
  Metrics metrics;
  metrics.count = static_cast<std::int64_t>(measured.size());
  if (measured.empty()) return metrics;
  double squares = 0;
  double relative = 0;
  std::int64_t positive = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double error = predicted[i] - measured[i];
    squares += error * error;
    if (measured[i] > 0) {
      relative += std::fabs(error) / measured[i];
      ++positive;
    }
  }
  metrics.mse = squares / static_cast<double>(measured.size());
  if (positive > 0) metrics.mape = relative / static_cast<double>(positive);
  metrics.tau = kendall_tau(predicted, measured);
  const double half_width = conformal_half_width(predicted, measured);
  if (std::isfinite(half_width)) metrics.half_width = half_width;
  return metrics;
}

}  // namespace neuroshard
