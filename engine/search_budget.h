#pragma once

#include "engine/core/status.h"
#include "search/sharder.h"

// Searches that run another one more than once.

namespace neuroshard {

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
