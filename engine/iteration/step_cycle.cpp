#include "engine/iteration/step_cycle.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace neuroshard {
namespace {

class CycleSearch {
 public:
  explicit CycleSearch(const SimulatedSteps& steps)
      : steps_(steps), visits_(steps.runs.size()), last_step_(steps.runs.size() - steps.tasks) {
    cycle_.processor = true;
    cycle_.step_ms = steps_.runs.back().issued_ms / static_cast<double>(steps_.steps());
  }

  StepCycle run() {
    for (std::optional<Place> late = latest(); late; late = latest()) {
      follow(*late);
      if (!lengthen()) break;
    }
    return std::move(cycle_);
  }

 private:
  struct Place {
    std::size_t run = 0;
    std::size_t device = 0;
  };
  /// Of the path that is followed: by which device it leaves a run, and when.
  struct Visit {
    double end_ms = 0;
    double at_ms = 0;  ///< of a task that devices begin together, its beginning
    std::int32_t device = -1;
  };

  /// Where the last step ends most behind all that steps of the cycle's length would allow after
  /// an earlier step, or after empty streams.
  [[nodiscard]] std::optional<Place> latest() const {
    const double step = cycle_.step_ms;
    std::optional<Place> place;
    double most = 0;
    for (const std::size_t task : steps_.carried) {
      const double* const last = steps_.ends_of(last_step_ + task);
      const double* const before = last - steps_.tasks * steps_.devices;
      for (std::size_t d = 0; d < steps_.devices; ++d) {
        const double rounding = kStepRounding * last[d];
        if (last[d] - before[d] - step <= std::max(most, rounding)) continue;
        const double behind = last[d] - allowed(task, d);
        if (behind <= std::max(most, rounding)) continue;
        most = behind;
        place = {last_step_ + task, d};
      }
    }
    return place;
  }

  [[nodiscard]] double allowed(std::size_t task, std::size_t device) const {
    double allowed = 0;
    for (std::size_t run = task; run < last_step_; run += steps_.tasks) {
      allowed = std::max(allowed + cycle_.step_ms, steps_.ends_of(run)[device]);
    }
    return allowed + cycle_.step_ms;
  }

  /// Back from what a run waited for last to what that did.
  void follow(Place place) {
    std::fill(visits_.begin(), visits_.end(), Visit{});
    while (true) {
      const SimulatedSteps::Run& own = steps_.runs[place.run];
      const double end = steps_.ends_of(place.run)[place.device];
      const bool together = own.ready != nullptr;
      visits_[place.run] = {end, together ? own.meeting_ms : end,
                            static_cast<std::int32_t>(place.device)};
      if (together) {
        const double* const last = std::find(own.ready, own.ready + steps_.devices, own.meeting_ms);
        if (last == own.ready + steps_.devices) return;  // times that are no numbers
        place.device = static_cast<std::size_t>(last - own.ready);
      }
      std::optional<std::size_t> cause;
      double ready = own.issued_ms;
      for (const std::size_t other : steps_.after_of(place.run)) {
        const double ended = steps_.ends_of(other)[place.device];
        if (ended < ready) continue;
        ready = ended;
        cause = other;
      }
      if (!cause) return;  // the processor, or streams were empty
      place.run = *cause;
    }
  }

  /// Whether the path has come by the same task in steps that are further apart.
  bool lengthen() {
    std::size_t first = 0;
    std::size_t second = 0;
    for (std::size_t late = steps_.tasks; late < visits_.size(); ++late) {
      if (visits_[late].device < 0) continue;
      const bool together = steps_.runs[late].ready != nullptr;
      for (std::size_t early = late % steps_.tasks; early < late; early += steps_.tasks) {
        if (visits_[early].device < 0) continue;
        if (!together && visits_[early].device != visits_[late].device) continue;
        const double ms = (visits_[late].at_ms - visits_[early].at_ms) /
                          static_cast<double>((late - early) / steps_.tasks);
        if (ms <= cycle_.step_ms) continue;
        cycle_.step_ms = ms;
        first = early;
        second = late;
      }
    }
    if (second == 0) return false;
    cycle_.processor = false;
    keep_ends(first / steps_.tasks, second / steps_.tasks);
    return true;
  }

  /// With what the cycle goes over from each of the steps to the next one.
  void keep_ends(std::size_t first, std::size_t end) {
    cycle_.ends.clear();
    for (std::size_t step = first; step < end; ++step) {
      std::size_t run = (step + 1) * steps_.tasks - 1;
      while (visits_[run].device < 0) --run;
      cycle_.ends.push_back({static_cast<std::int32_t>(run % steps_.tasks), visits_[run].device,
                             visits_[run].end_ms - static_cast<double>(step) * cycle_.step_ms});
    }
  }

  const SimulatedSteps& steps_;
  StepCycle cycle_;
  std::vector<Visit> visits_;  ///< of each run; device -1: not on the path
  std::size_t last_step_;
};

}  // namespace

StepCycle longest_cycle(const SimulatedSteps& steps) { return CycleSearch(steps).run(); }

}  // namespace neuroshard
