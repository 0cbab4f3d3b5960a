#pragma once

#include "engine/core/status.h"

namespace neuroshard::apps {

/// What the process returns to its caller: 0 done; 1 failed (files, hardware, interrupted); 2 bad
/// usage or bad input; 3 no feasible plan.
int exit_code(const Status& status);

}  // namespace neuroshard::apps
