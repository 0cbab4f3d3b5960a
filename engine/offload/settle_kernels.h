#pragma once

#include "engine/core/plan.h"
#include "engine/offload/kernel_costs.h"

namespace neuroshard {

/// Gives tables in host memory cheaper kernels, caches as large as fit among them, where all
/// devices that hold them have memory left: plan.offloaded becomes those. On the dearest device
/// first, where the most is saved; no device gets dearer, nor beyond its memory.
void settle_kernels(KernelCosts& costs, Plan& plan);

}  // namespace neuroshard
