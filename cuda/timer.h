#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::cuda {

/// Times work on the GPU by events in its own stream, each run behind an emptied L2. Runs are given
/// to the GPU ahead of it, with a head start for the CPU before each, so a time is the GPU's:
/// launches cost nothing. Not thread-safe.
class Timer {
 public:
  virtual ~Timer() = default;

  /// Does `steps` in turn, `warmup` times untimed and `timed` times timed. Milliseconds of each
  /// step in each timed run: result[step][run]; the last row is the time of all steps together.
  /// `surroundings` are not timed. Errors: the first one of a step, or of the GPU.
  struct Surroundings {
    std::function<Status()> before;  ///< every run, behind the emptying of the L2
    std::function<Status()> at_end;  ///< once, before the GPU is waited for without a limit
  };
  virtual Result<std::vector<std::vector<double>>> time(
      const std::vector<std::function<Status()>>& steps, int warmup, int timed,
      const Surroundings& surroundings) = 0;
  Result<std::vector<std::vector<double>>> time(const std::vector<std::function<Status()>>& steps,
                                                int warmup, int timed) {
    return time(steps, warmup, timed, {});
  }
};

/// Keeps the GPU's default stream busy for so long, by the GPU's clock (steps of about a
/// microsecond): the CPU gets ahead of it, and starts can be put off.
Status delay(std::chrono::nanoseconds time);

/// Errors: as device_available; memory for twice the L2.
Result<std::unique_ptr<Timer>> make_timer();

}  // namespace neuroshard::cuda
