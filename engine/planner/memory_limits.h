#pragma once

#include <cstdint>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/step_buffers.h"
#include "engine/core/table.h"

namespace neuroshard {

/// kInfeasible, naming the fullest device and the memory it would need, when shards on a device
/// have more than `memory_bytes`. REQUIRES a plan that is valid for `workload`.
Status check_memory(const Workload& workload, const Plan& plan, std::int64_t memory_bytes,
                    StepBuffers buffers = StepBuffers::kOff);
/// The same of hosts of `devices_per_host`, the last one of what is left, 0: one of all devices.
Status check_host_memory(const Workload& workload, const Plan& plan, std::int32_t devices_per_host,
                         std::int64_t memory_bytes);

}  // namespace neuroshard
