#pragma once

#include <algorithm>
#include <cstdint>

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
