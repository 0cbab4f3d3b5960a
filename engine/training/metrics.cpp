#include "engine/training/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

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
  return metrics;
}

}  // namespace neuroshard
