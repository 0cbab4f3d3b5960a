#pragma once

#include <cstdint>

#include "engine/core/status.h"
#include "engine/core/step_buffers.h"
#include "engine/core/table.h"

namespace neuroshard {

/// Counts them in the bytes of all tables from now on, for a plan on so many devices; kOff: no
/// more. Errors: kInvalidInput, naming the table, where shards of some plan may have kBuffersOfAll
/// together, and where all bytes with those, on devices and hosts, are not known to be below 2^63.
/// REQUIRES devices >= 1.
Status count_buffers(StepBuffers buffers, std::int32_t devices, Workload& workload);

}  // namespace neuroshard
