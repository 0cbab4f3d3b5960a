#include "engine/core/fit_index_law.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace neuroshard {
namespace {

constexpr double kLeastExponent = 1e-6;  // as good as even
constexpr double kMostExponent = 4;
constexpr double kMostShiftPower = 20;  // zipf_q up to 2^20
constexpr double kFinest = 0.02;        // steps of the exponent that end a descent
constexpr double kWorthHitters = 0.005;
constexpr double kNear = 0.01;  // a point: no need to look on

double distance_between(const ReuseHistogram& a, const ReuseHistogram& b) {
  double sum = 0;
  for (std::size_t bin = 0; bin < a.size(); ++bin) sum += std::abs(a[bin] - b[bin]);
  return sum / 2;
}

/// What laws are fitted to.
struct Target {
  const ReuseHistogram& histogram;
  double lookups;
  std::int64_t rows;

  [[nodiscard]] FittedLaw with(std::vector<double> hitters, double power, double exponent) const {
    IndexLaw law{std::move(hitters), std::exp2(power), exponent};
    const double away = distance_between(expected_reuse(rows, lookups, law).histogram, histogram);
    return {std::move(law), away};
  }
};

/// Walks from (2^power, exponent) in ever smaller steps to where none brings the law nearer.
FittedLaw descend(const Target& target, const std::vector<double>& hitters, double power,
                  double exponent) {
  FittedLaw best = target.with(hitters, power, exponent);
  double step = 0.32;
  while (step >= kFinest && best.distance > kNear) {
    const std::array<std::pair<double, double>, 6> moves{{{power, exponent + step},
                                                          {power, exponent - step},
                                                          {power + 8 * step, exponent},
                                                          {power - 8 * step, exponent},
                                                          {power + 8 * step, exponent + step},
                                                          {power - 8 * step, exponent - step}}};
    bool moved = false;
    for (const auto& [next_power, next_exponent] : moves) {
      const double p = std::clamp(next_power, 0.0, kMostShiftPower);
      const double s = std::clamp(next_exponent, kLeastExponent, kMostExponent);
      FittedLaw next = target.with(hitters, p, s);
      if (!(next.distance < best.distance)) continue;
      best = std::move(next);
      power = p;
      exponent = s;
      moved = true;
      break;
    }
    if (!moved) step /= 2;
  }
  return best;
}

/// Shares of the lookups that the hottest rows have, by the centres of their bins.
std::vector<double> hottest(const Target& target, std::size_t most) {
  const double distinct = distinct_rows(target.histogram, target.lookups, target.rows);
  std::vector<double> shares;
  double left = 1;
  double rows = 0;
  for (int bin = kReuseBins - 1; bin > 0; --bin) {
    rows += target.histogram[static_cast<std::size_t>(bin)] * distinct;
    const double share = reuse_bin_center(bin) / target.lookups;
    while (shares.size() < most && rows >= static_cast<double>(shares.size()) + 0.5) {
      if (share > left) return shares;
      shares.push_back(share);
      left -= share;
    }
  }
  return shares;
}

}  // namespace

FittedLaw fit_index_law(const ReuseHistogram& histogram, double lookups, std::int64_t rows) {
  const bool is_looked_up = lookups > 0 && mean_reuse(histogram) > 0;
  if (!is_looked_up) return {{{}, 1, kLeastExponent}, 0};
  const Target target{histogram, lookups, rows};
  FittedLaw best = descend(target, {}, 0, kLeastExponent);
  for (const auto& [power, exponent] : {std::pair{0.0, 1.0}, {6.0, 1.4}, {12.0, 2.0}}) {
    if (best.distance <= kNear) return best;
    FittedLaw other = descend(target, {}, power, exponent);
    if (other.distance < best.distance) best = std::move(other);
  }
  const double power = std::log2(best.law.zipf_q);
  const double exponent = best.law.zipf_s;
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{4}, std::size_t{kMostFittedHitters}}) {
    if (best.distance <= kNear || static_cast<std::int64_t>(count) >= rows) break;
    const std::vector<double> hitters = hottest(target, count);
    if (hitters.size() < count) break;
    FittedLaw other = descend(target, hitters, power, exponent);
    if (other.distance < best.distance - kWorthHitters) best = std::move(other);
  }
  return best;
}

}  // namespace neuroshard
