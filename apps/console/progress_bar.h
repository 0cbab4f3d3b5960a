#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "apps/console/console.h"
#include "engine/core/progress.h"

namespace neuroshard::apps {

/// Shows long work on standard error: phase, bar, count, rate and time left. On a terminal once the
/// work has taken two seconds, in one line that is wiped when the bar is destroyed. A file or a
/// pipe gets a line without the bar after five seconds and then at longer and longer intervals: 24
/// in an hour. Like every sink: calls from one thread at a time.
class ProgressBar final : public ProgressSink {
 public:
  ProgressBar();
  ~ProgressBar() override;
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::string_view phase, std::int64_t done, std::int64_t total,
              std::string_view unit) override;

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool is_time(Clock::time_point now) const;

  Console console_;
  Clock::time_point started_;      // of the work
  Clock::time_point drawn_;        // last time
  Clock::time_point phase_began_;  // rates are of the phase,
  std::int64_t phase_done_ = 0;    // and of what it did itself (resumed work starts above 0)
  std::string phase_;
  bool visible_ = false;
};

}  // namespace neuroshard::apps
