#pragma once

#include <cstddef>
#include <vector>

#include "engine/core/plan.h"
#include "engine/offload/kernel_costs.h"

namespace neuroshard {

/// Gives tables of `plan` cheaper kernels where all devices that hold them have memory left:
/// `kernels`, one a table, becomes those. On the dearest device first, where the most is saved;
/// no device gets dearer, nor beyond its memory.
void settle_kernels(const Plan& plan, KernelCosts& costs, std::vector<std::size_t>& kernels);

}  // namespace neuroshard
