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
constexpr double kMostSteepness = 7;     // zipf_s up to 64
constexpr double kMostShift = 29;        // zipf_q up to 2^29
// Steps of the steepness: the first, and the last without and with heavy hitters.
constexpr double kFirstStep = 0.25;
constexpr double kFinest = 0.01;
constexpr double kFinestWithHitters = 0.05;
constexpr double kWorthHitters = 0.005;
constexpr double kNear = 0.01;  // a point: no need to look on

/// How far two histograms are from each other.
struct Distance {
  double differences = 0;  ///< half the sum of all bins'
  double bins = 0;         ///< that shares have to move to make the one of the other

  /// What descents make less: the former alone leads nowhere while no bin is met.
  [[nodiscard]] double loss() const { return differences + bins / 2; }
};

Distance distance_between(const ReuseHistogram& a, const ReuseHistogram& b) {
  Distance distance;
  double ahead = 0;
  for (std::size_t bin = 0; bin < a.size(); ++bin) {
    ahead += a[bin] - b[bin];
    distance.differences += std::abs(a[bin] - b[bin]) / 2;
    distance.bins += std::abs(ahead);
  }
  return distance;
}

/// A law that was tried.
struct Trial {
  IndexLaw law{};
  Distance distance{};

  [[nodiscard]] bool is_near() const { return distance.differences <= kNear; }
  [[nodiscard]] double loss() const { return distance.loss(); }
};

/// A law but for its heavy hitters, in numbers of which steps are alike everywhere.
struct Point {
  double shift = 0;      ///< log2 of zipf_q
  double steepness = 0;  ///< zipf_s up to 1, from there 1 + log2 of it

  [[nodiscard]] Point moved(double shift_by, double steepness_by) const {
    return {std::clamp(shift + shift_by, 0.0, kMostShift),
            std::clamp(steepness + steepness_by, kLeastExponent, kMostSteepness)};
  }
};

/// What laws are fitted to.
struct Target {
  const ReuseHistogram& histogram;
  double lookups;
  std::int64_t rows;

  [[nodiscard]] Trial with(std::vector<double> hitters, const Point& at) const {
    const double exponent = at.steepness < 1 ? at.steepness : std::exp2(at.steepness - 1);
    IndexLaw law{std::move(hitters), std::exp2(at.shift), exponent};
    const Distance away = distance_between(expected_reuse(rows, lookups, law).histogram, histogram);
    return {std::move(law), away};
  }
};

struct Fit {
  Trial trial;
  Point at;
};

/// Walks in ever smaller steps to where none down to `last` brings the law nearer. Of a steep law
/// with a large shift the ratio of the two counts: both grow together.
Fit descend(const Target& target, const std::vector<double>& hitters, Point at, double step,
            double last) {
  constexpr double kShiftStep = 8;
  constexpr std::array<Point, 8> kMoves{{{0, 1},
                                         {0, -1},
                                         {kShiftStep, 0},
                                         {-kShiftStep, 0},
                                         {1, 1},
                                         {-1, -1},
                                         {kShiftStep, 1},
                                         {-kShiftStep, -1}}};
  Trial best = target.with(hitters, at);
  std::size_t first = 0;  // of the moves: the one that did well before
  while (step >= last && !best.is_near()) {
    bool moved = false;
    for (std::size_t k = 0; k < kMoves.size() && !moved; ++k) {
      const Point& move = kMoves[(first + k) % kMoves.size()];
      const Point next = at.moved(move.shift * step, move.steepness * step);
      Trial other = target.with(hitters, next);
      if (!(other.loss() < best.loss())) continue;
      best = std::move(other);
      at = next;
      first = (first + k) % kMoves.size();
      moved = true;
    }
    if (!moved) step /= 2;
  }
  return {std::move(best), at};
}

/// The best of some points everywhere.
Point best_beginning(const Target& target) {
  Point best;
  double least = kReuseBins;  // beyond any
  for (const double shift : {0.0, 6.0, 12.0, 18.0}) {
    for (const double steepness : {kLeastExponent, 0.8, 1.3, 3.0, 5.0}) {
      const Trial trial = target.with({}, {shift, steepness});
      if (!(trial.loss() < least)) continue;
      least = trial.loss();
      best = {shift, steepness};
      if (trial.is_near()) return best;
    }
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
  Fit best = descend(target, {}, best_beginning(target), kFirstStep, kFinest);
  for (const std::size_t count : {std::size_t{1}, std::size_t{kMostFittedHitters}}) {
    if (best.trial.is_near() || static_cast<std::int64_t>(count) >= rows) break;
    const std::vector<double> hitters = hottest(target, count);
    if (hitters.size() < count) break;
    Fit other = descend(target, hitters, best.at, kFirstStep, kFinestWithHitters);
    if (other.trial.loss() < best.trial.loss() - kWorthHitters) best = std::move(other);
  }
  return {std::move(best.trial.law), best.trial.distance.differences};
}

}  // namespace neuroshard
