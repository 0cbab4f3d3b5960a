#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::cuda {

/// Times work on the GPU by events in its own stream, each run behind an emptied L2. Runs are given
/// to the GPU ahead of it, so a time is the GPU's: launches cost nothing as long as the CPU keeps
/// up. Not thread-safe.
class Timer {
 public:
  virtual ~Timer() = default;

  /// Does `steps` in turn, `warmup` times untimed and `timed` times timed. Milliseconds of each
  /// step in each timed run: result[step][run]; the last row is the time of all steps together.
  /// Errors: the first one of a step, or of the GPU.
  virtual Result<std::vector<std::vector<double>>> time(
      const std::vector<std::function<Status()>>& steps, int warmup, int timed) = 0;
};

/// Errors: as device_available; memory for twice the L2.
Result<std::unique_ptr<Timer>> make_timer();

}  // namespace neuroshard::cuda
