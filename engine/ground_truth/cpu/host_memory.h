#pragma once

#include <cstdint>

#include "engine/core/status.h"

namespace neuroshard {

/// kUnavailable when this process cannot have `bytes` more memory for `what` without swapping or
/// being ended for it: by /proc/meminfo and its control groups (version 2). OK where the system
/// does not say. Thread-safe.
Status check_available(std::int64_t bytes, const char* what);

}  // namespace neuroshard
