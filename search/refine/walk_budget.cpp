#include "search/refine/walk_budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/core/elapsed.h"

namespace neuroshard::search {
namespace {

constexpr double kLateness = 2;         // times a walk's share of the time ..
constexpr double kLateShare = 0.1;      // .. and of the limit: the budget is too large
constexpr double kReportSeconds = 0.1;  // between two progress reports

// Of a cycle's candidates, over the one before, and those of the first. (12 tasks of 8 to 100
// generated tables on 2 to 32 devices, h200_sim and h100_sim, four seeds, beside one cycle for the
// whole budget: 0.00, -0.10, -0.46 and -0.36 % in the mean at 3,000, 30,000, 300,000 and 1,000,000
// candidates; with a growth of 2 or 4 between -0.37 and 0.14 at the last two.)
constexpr double kCycleGrowth = 3;
constexpr double kFirstCycle = 2000;
// It is so many times as long as all that the search has done before, if that is more: then it ends
// as a stage does (stages.h). (steps_up_bench: once as long or 2,000 from 3,000 evaluations on
// within 0.3 %.)
constexpr double kBeyondBefore = 2;

// Of time cycles grow alike, from these seconds on. (DLRM-DCNv2 on 8 devices, h200_sim, 1 s, eight
// seeds: one cycle for all of it is 0.7 % costlier, a first one of 2 ms as good; 1,000 generated
// tables on 64 and 10,000 on 256 devices are 1.0 and 0.0 % cheaper than with one.)
constexpr double kFirstSeconds = 0.02;

}  // namespace

WalkBudget::WalkBudget(const SearchOptions& options, Clock::time_point began, int threads,
                       int walks, std::string_view name)
    : options_(options),
      stop_(options, began),
      began_(began),
      threads_(threads),
      walks_(walks),
      name_(name) {}

double WalkBudget::now() const { return seconds_since(began_); }

void WalkBudget::run_cycles(Cycles cycles, std::int64_t evaluations_so_far, double kept_share,
                            const std::function<void()>& run_cycle,
                            const std::function<bool()>& ended) {
  const std::int64_t all = std::max<std::int64_t>(0, options_.evaluations - evaluations_so_far);
  kept_ = static_cast<std::int64_t>(kept_share * static_cast<double>(all));
  total_ = all - kept_;
  if (cycles == Cycles::kGrowing) {
    double planned = 0;
    const auto as_before = kBeyondBefore * static_cast<double>(evaluations_so_far);
    for (double length = std::max(kFirstCycle, as_before); !over() && !ended() && !too_late();
         length *= kCycleGrowth) {
      if (used_up()) total_ += std::exchange(kept_, 0);  // of what was kept, what is left
      if (used_up()) break;
      planned += length;
      begin_cycle(static_cast<std::int64_t>(planned), options_.time_limit_s);
      run_cycle();
    }
  } else if (total_ > 0) {
    begin_cycle(total_, options_.time_limit_s);
    run_cycle();
  }
  if (options_.evaluations > 0 && !too_late()) return;
  total_ += std::exchange(kept_, 0);  // too large for the time, yet not to be passed
  const double limit = (1 - kept_share) * options_.time_limit_s;
  for (double length = kFirstSeconds; now() < limit && !over() && !ended() && !spent();
       length *= kCycleGrowth) {
    const double end = now() + length;
    const bool last = end + kCycleGrowth * length > limit;
    begin_cycle(0, last ? limit : end);
    run_cycle();
  }
}

void WalkBudget::begin_cycle(std::int64_t budget, double end) {
  budget_ = budget;
  cycle_end_ = end;
}

WalkBudget::Share WalkBudget::share(int left, int generations) const {
  Share share;
  if (budget_ > 0) {
    // What walks looked at beyond their shares is taken from the next ones.
    share.candidates =
        std::max<std::int64_t>(1, generations * std::max<std::int64_t>(0, budget_ - candidates_) /
                                      (std::int64_t{left} * walks_));
  }
  if (timed()) {
    const int in_turn = (walks_ + threads_ - 1) / threads_;
    const double time = std::max(0.0, cycle_end_ - now());
    share.seconds = std::max(1e-6, generations * time / (left * in_turn));
    // The budget ends in the midst of the cycle: its time is for what comes before.
    const auto planned = static_cast<double>(budget_ - candidates_);
    const auto rest = static_cast<double>(total_ - candidates_);
    if (budget_ > 0 && rest > 0 && planned > rest) share.seconds *= planned / rest;
  }
  return share;
}

bool WalkBudget::spent() const { return options_.evaluations > 0 && used_up(); }

bool WalkBudget::used_up() const { return candidates_ + kShortestWalk >= total_; }

std::int64_t WalkBudget::most_of(const Share& share, std::int64_t index) const {
  if (share.candidates == 0) {
    return total_ == 0 ? kNoBudget : std::max<std::int64_t>(0, (total_ - candidates_) / walks_);
  }
  return std::clamp<std::int64_t>(total_ - candidates_ - index * share.candidates, 0,
                                  share.candidates);
}

SearchOptions WalkBudget::share_of_cycle(double share) const {
  SearchOptions options = options_;
  options.evaluations = 0;
  const double end = budget_ > 0 ? options_.time_limit_s : cycle_end_;
  const double of_time = budget_ > 0 ? 1 : share;  // a budget is never paced by time
  if (timed()) options.time_limit_s = std::max(kLeastTimeLimit, of_time * (end - now()));
  const auto left = static_cast<double>(budget_ - candidates_);
  if (budget_ > 0) options.evaluations = static_cast<std::int64_t>(std::max(1.0, share * left));
  return options;
}

double WalkBudget::done(const Share& share, Clock::time_point began, std::int64_t candidates,
                        bool reports) {
  if (cancelled()) return 1;
  if (reports) report(candidates);
  const double time = share.seconds > 0 ? seconds_since(began) / share.seconds : 0;
  if (share.candidates == 0) return time;
  const bool long_one = time * share.seconds > kLateShare * options_.time_limit_s;
  if ((time > kLateness && long_one) || over()) too_late_ = true;
  if (too_late_) return 1;
  return static_cast<double>(candidates) / static_cast<double>(share.candidates);
}

void WalkBudget::report(std::int64_t candidates) {
  if (options_.progress == nullptr) return;
  const double seconds = now();
  if (seconds - reported_ < kReportSeconds) return;
  reported_ = seconds;
  if (budget_ == 0) {
    options_.progress->update(name_, static_cast<std::int64_t>(seconds),
                              static_cast<std::int64_t>(std::ceil(options_.time_limit_s)), "s");
  } else {
    options_.progress->update(name_, candidates_ + candidates, total_, "candidates");
  }
}

}  // namespace neuroshard::search
