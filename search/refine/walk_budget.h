#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "search/problem.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// Candidates that a walk looks at for nothing: its start, and the plan after a move.
inline constexpr std::int64_t kShortestWalk = 2;

/// How long the walks of a refine search go on: their shares of a budget of candidates or of the
/// time, and when one or the other is over. A budget is never paced by time, so that a limit that
/// is not reached changes nothing, unless single walks take long: then it is given up. What it is
/// made from must outlive it. done() is thread-safe, all else not.
class WalkBudget {
 public:
  using Clock = StopCheck::Clock;

  /// Of one walk.
  struct Share {
    std::int64_t candidates = 0;  ///< 0: no limit
    double seconds = 0;           ///< 0: no limit
  };

  /// The options' time limit counts from `began`; `walks` go on at a time, on so many threads.
  /// `name` is what progress is told of.
  WalkBudget(const SearchOptions& options, Clock::time_point began, int threads, int walks,
             std::string_view name = "refine");

  [[nodiscard]] bool cancelled() const { return stop_.cancelled(); }
  /// Cancelled, or out of time.
  [[nodiscard]] bool over() const { return stop_.stop(); }
  /// Seconds since the beginning.
  [[nodiscard]] double now() const;

  /// How a budget of candidates is divided: into one cycle, or into cycles that are each longer
  /// than the one before, the same ones for every budget, which ends in the midst of one. Then a
  /// larger budget does all that a smaller one does, and more.
  enum class Cycles { kOne, kGrowing };

  /// Spends a budget of candidates, of which some are used up before, in such `cycles`. A share of
  /// it is kept for what `run_cycle` does after its walks; what that leaves in the end is for more
  /// of them. Time is spent in longer and longer ones, the last to the limit, so that whoever
  /// interrupts a long search has the plan of a finished one. A budget too large for the time limit
  /// no longer paces the search from some moment on, but what time is left, until one of the two is
  /// used up. None begins when `ended` says so.
  void run_cycles(Cycles cycles, std::int64_t evaluations_so_far, double kept_share,
                  const std::function<void()>& run_cycle, const std::function<bool()>& ended);

  /// Of the cycle, in candidates; 0: no limit.
  [[nodiscard]] std::int64_t plans() const { return budget_; }
  /// All that is left of the budget, with what is kept.
  [[nodiscard]] std::int64_t left() const { return total_ + kept_ - candidates_; }
  /// Whether walks have taken so long that the budget cannot be used up within the time.
  [[nodiscard]] bool too_late() const { return too_late_; }

  /// Of a walk, while `left` generations of the cycle are left, that goes on for `generations` of
  /// them.
  [[nodiscard]] Share share(int left, int generations = 1) const;
  /// What walk `index` of a generation may look at: its share, and less where the budget ends;
  /// kNoBudget where there is none.
  [[nodiscard]] std::int64_t most_of(const Share& share, std::int64_t index) const;
  /// Whether the budget of candidates is too small for another walk; so it is where there is none.
  [[nodiscard]] bool used_up() const;
  /// The options for another search, within that share of what is left of the cycle: of the budget,
  /// where it has one, or else of its time.
  [[nodiscard]] SearchOptions share_of_cycle(double share) const;
  /// What of its share a walk that began then has used up with these candidates; 1: all. `reports`:
  /// whether it may tell the progress sink, which one thread may.
  double done(const Share& share, Clock::time_point began, std::int64_t candidates, bool reports);
  /// Counts what a walk has looked at.
  void add(std::int64_t candidates) { candidates_ += candidates; }
  /// Looked at by all walks.
  [[nodiscard]] std::int64_t candidates() const { return candidates_; }

 private:
  void begin_cycle(std::int64_t budget, double end);
  /// Whether there is a budget of candidates, and it is used up.
  [[nodiscard]] bool spent() const;
  [[nodiscard]] bool timed() const { return options_.time_limit_s > 0; }
  void report(std::int64_t candidates);

  const SearchOptions& options_;
  const StopCheck stop_;
  const Clock::time_point began_;
  const int threads_;
  const int walks_;
  const std::string_view name_;
  std::int64_t total_ = 0;   // candidates of all cycles; 0: no limit
  std::int64_t kept_ = 0;    // for what comes after cycles
  std::int64_t budget_ = 0;  // candidates to the end of the cycle; 0: no limit
  double cycle_end_ = 0;     // seconds after began_
  std::int64_t candidates_ = 0;
  std::atomic<bool> too_late_ = false;
  double reported_ = 0;
};

}  // namespace neuroshard::search
