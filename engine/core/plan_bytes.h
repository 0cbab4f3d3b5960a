#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/step_buffers.h"
#include "engine/core/table.h"

namespace neuroshard {

/// Bytes in the memory of each device, `plan.devices` values, with those buffers; a replicated
/// table counts on each.
std::vector<std::int64_t> device_bytes(const Workload& workload, const Plan& plan,
                                       StepBuffers buffers = StepBuffers::kOff);

/// Bytes that each device has in its host's memory: 0 but for offloaded tables.
std::vector<std::int64_t> device_host_bytes(const Workload& workload, const Plan& plan);

/// Has the costs of each device say what it has in its memory and its host's. REQUIRES costs of as
/// many devices.
void set_bytes(const Workload& workload, const Plan& plan, StepBuffers buffers, PlanCost& cost);

/// Bytes that each host's devices have in its memory; all devices are hosts of `devices_per_host`,
/// the last one of what is left. REQUIRES a plan that is valid for the workload.
std::vector<std::int64_t> host_bytes(const Workload& workload, const Plan& plan,
                                     std::int32_t devices_per_host);

}  // namespace neuroshard
