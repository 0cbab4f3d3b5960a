#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "search/problem.h"

namespace neuroshard::search {

/// Seconds (3 years): a time limit beyond them is none, and would overflow the clock.
inline constexpr double kNoTimeLimit = 1e8;

/// Whether a search has to end: its time is over or the caller asked. Const access is thread-safe.
class StopCheck {
 public:
  using Clock = std::chrono::steady_clock;

  /// `began`: when the time limit begins.
  explicit StopCheck(const SearchOptions& options, Clock::time_point began = Clock::now())
      : cancel_(options.cancel), limited_(options.time_limit_s > 0) {
    if (!limited_) return;
    if (options.time_limit_s > kNoTimeLimit) {
      limited_ = false;
      return;
    }
    deadline_ = began + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(options.time_limit_s));
  }

  [[nodiscard]] bool cancelled() const { return cancel_ != nullptr && cancel_->cancelled(); }
  [[nodiscard]] bool stop() const { return cancelled() || (limited_ && Clock::now() >= deadline_); }

 private:
  const CancelToken* cancel_;
  bool limited_;
  Clock::time_point deadline_;
};

/// Asks a StopCheck, or none, once in many steps: the clock takes as long as a step. Not
/// thread-safe.
class RareStopCheck {
 public:
  explicit RareStopCheck(const StopCheck* stop = nullptr) : stop_(stop) {}

  /// To be asked before each step.
  bool stop() { return stop_ != nullptr && ++steps_ % kBetween == 0 && stop_now(); }
  bool stop_now() { return stopped_ = stopped_ || (stop_ != nullptr && stop_->stop()); }
  /// Whether it has said so.
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  static constexpr std::uint64_t kBetween = 1024;  // shards placed: some tenths of a millisecond

  const StopCheck* stop_;
  std::uint64_t steps_ = 0;
  bool stopped_ = false;
};

/// Of plans, where their number is not limited.
inline constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();

/// That share of a search's budget of plans, one at least; kNoBudget where it has none.
inline std::int64_t budget_share(const SearchOptions& options, double share) {
  if (options.evaluations <= 0) return kNoBudget;
  const auto plans = static_cast<double>(options.evaluations);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(share * plans));
}

/// How long a search goes on while it has no plan at all, however short its time limit.
inline constexpr double kFirstPlanSeconds = 1;

/// The shortest time limit, in seconds: 0 would be none.
inline constexpr double kLeastTimeLimit = 1e-6;

/// Whether parts of a search are to have shares of the time: a budget is never paced by it.
inline bool paced_by_time(const SearchOptions& options) {
  return options.time_limit_s > 0 && options.evaluations == 0;
}

/// That share of some seconds, or `least`, if that is more and there is as much.
inline double share_of(double seconds, double share, double least) {
  return std::max(share * seconds, std::min(seconds, least));
}

/// `options` with a time limit, if any, that leaves a search that long.
inline SearchOptions with_patience(SearchOptions options) {
  if (options.time_limit_s > 0) {
    options.time_limit_s = std::max(options.time_limit_s, kFirstPlanSeconds);
  }
  return options;
}

}  // namespace neuroshard::search
