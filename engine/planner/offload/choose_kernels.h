#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/planner/offload/divisions.h"
#include "engine/planner/offload/kernel_costs.h"
#include "search/offload/kernel_choice.h"

namespace neuroshard {

/// Kernels for all tables, together within the limits, at little cost: as if all devices were one,
/// but that each piece of a table fits on a device and costs no more than a device does when all
/// cost the same. Tables are taken to be divided as costs least, or no finer than `divided`,
/// wherever devices have memory for the pieces. Nothing where no choice was found.
std::optional<OffloadChoice> choose_kernels(const KernelCosts& costs,
                                            const search::MemoryLimits& limits, Divided divided);

}  // namespace neuroshard
