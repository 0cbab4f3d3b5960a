#pragma once

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
