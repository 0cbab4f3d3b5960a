#pragma once

#include "engine/ground_truth/cpu/kernels.h"

namespace neuroshard {

/// AVX2 + FMA; REQUIRES a processor that has both. Defined only on x86-64.
extern const LookupKernels kAvx2LookupKernels;

}  // namespace neuroshard
