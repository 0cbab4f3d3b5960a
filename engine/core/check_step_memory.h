#pragma once

#include "engine/core/status.h"
#include "engine/core/step_memory.h"
#include "engine/core/table.h"

namespace neuroshard {

/// Errors: kInvalidInput, naming the table, where shards of some plan may have 2^62 bytes of it
/// together, and where all bytes with those, on devices and hosts, are not known to be below 2^63.
/// REQUIRES validate(workload).ok() and step.devices >= 1.
Status check_step_memory(const Workload& workload, const StepMemory& step);

}  // namespace neuroshard
