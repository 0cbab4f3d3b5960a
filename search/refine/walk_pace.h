#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "search/sharder.h"

namespace neuroshard::search {

/// How long the walks of a refine search go on: their shares of a budget of candidates or of the
/// time, and when one or the other is over. A budget is never paced by time, so that a limit that
/// is not reached changes nothing, unless single walks take long: then it is given up. What it is
/// made from must outlive it. done() is thread-safe, all else not.
class WalkPace {
 public:
  using Clock = std::chrono::steady_clock;

  /// Of one walk.
  struct Share {
    std::int64_t candidates = 0;  ///< 0: no limit
    double seconds = 0;           ///< 0: no limit
  };

  /// The options' time limit counts from `began`; `walks` go on at a time, on so many threads.
  WalkPace(const SearchOptions& options, Clock::time_point began, int threads, int walks);

  [[nodiscard]] bool cancelled() const;
  /// Cancelled, or out of time.
  [[nodiscard]] bool over() const;
  /// Seconds since the beginning.
  [[nodiscard]] double now() const;

  /// A cycle of so many candidates, or until that moment, in seconds since the beginning.
  void begin_cycle(std::int64_t budget, double end);
  [[nodiscard]] std::int64_t budget() const { return budget_; }
  /// Whether walks have taken so long that the budget cannot be used up within the time.
  [[nodiscard]] bool too_late() const { return too_late_; }

  /// Of a walk in a generation of `slices`, while `left` of the cycle are left.
  [[nodiscard]] Share share(int slices, int left) const;
  /// What of its share a walk that began then has used up with these candidates; 1: all. `reports`:
  /// whether it may tell the progress sink, which one thread may.
  double done(const Share& share, Clock::time_point began, std::int64_t candidates, bool reports);
  /// Counts what a walk has looked at.
  void add(std::int64_t candidates) { candidates_ += candidates; }
  /// Looked at by all walks.
  [[nodiscard]] std::int64_t candidates() const { return candidates_; }

 private:
  [[nodiscard]] bool timed() const { return options_.time_limit_s > 0; }
  void report(std::int64_t candidates);

  const SearchOptions& options_;
  const Clock::time_point began_;
  const int threads_;
  const int walks_;
  std::int64_t budget_ = 0;  // candidates of the cycle; 0: no limit
  double cycle_end_ = 0;     // seconds after began_
  std::int64_t candidates_ = 0;
  std::atomic<bool> too_late_ = false;
  double reported_ = 0;
};

}  // namespace neuroshard::search
