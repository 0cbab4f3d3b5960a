#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "search/problem.h"

// Searches that run another one more than once.

namespace neuroshard {

/// Of a search that comes behind others, however little of a time limit they have left.
inline constexpr double kLeastSeconds = 1e-3;

/// Whether the caller has. Null: nobody can.
inline bool asked_to_stop(const CancelToken* cancel) {
  return cancel != nullptr && cancel->cancelled();
}

/// The evaluations that a search has for those that it runs one after the other.
class Evaluations {
 public:
  /// 0: as many as each takes.
  explicit Evaluations(std::int64_t all) : all_(all) {}

  void spend(std::int64_t evaluations) { spent_ += evaluations; }
  [[nodiscard]] std::int64_t spent() const { return spent_; }
  [[nodiscard]] bool limited() const { return all_ > 0; }
  /// Whether that share of all is spent; never where they are not limited.
  [[nodiscard]] bool over(double share = 1) const {
    return limited() && static_cast<double>(spent_) >= share * static_cast<double>(all_);
  }
  /// That share of what is left, one at least; 0 where they are not limited.
  [[nodiscard]] std::int64_t share_of_rest(double share) const {
    if (!limited()) return 0;
    const double left = share * static_cast<double>(all_ - spent_);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(left));
  }
  /// Of one of many quick tries: `usual`, and less where all of them have little.
  [[nodiscard]] std::int64_t of_try(std::int64_t usual) const {
    constexpr std::int64_t kTries = 200;
    constexpr std::int64_t kLeast = 50;
    if (!limited()) return usual;
    return std::min(std::clamp(all_ / kTries, kLeast, usual), share_of_rest(1));
  }

 private:
  std::int64_t all_;
  std::int64_t spent_ = 0;
};

/// The evaluations at which cycles of a search end, each with ten times as many as the one before,
/// the last with all. The others are the same for every budget: a larger one does what a smaller
/// one does that is among them, and more. (Forty generated sets of 10 to 200 tables with host
/// memory: from 300 to 3,000, 30,000 and 100,000 evaluations no plan got costlier; in one cycle 0,
/// 3 and 9 did. Within 0.06 % plans of one budget cost the same.)
inline std::vector<std::int64_t> ends_of_cycles(std::int64_t all) {
  constexpr std::int64_t kFirst = 300;
  constexpr std::int64_t kGrowth = 10;
  constexpr std::int64_t kLastGrowth = 3;  // at least
  std::vector<std::int64_t> ends;
  const std::int64_t most = all / kLastGrowth;
  for (std::int64_t end = kFirst; end <= most; end *= kGrowth) {
    ends.push_back(end);
    if (end > most / kGrowth) break;
  }
  ends.push_back(all);
  return ends;
}

/// Half of the time and of the evaluations, rounded up.
inline search::SearchOptions half_of(search::SearchOptions options) {
  options.time_limit_s /= 2;
  options.evaluations -= options.evaluations / 2;
  return options;
}

/// Whether a search has no plan for want of room or time: another one may have.
inline bool there_is_none(const Status& status) {
  return status.code() == StatusCode::kInfeasible || status.code() == StatusCode::kCancelled;
}

}  // namespace neuroshard
