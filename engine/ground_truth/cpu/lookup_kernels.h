#pragma once

#include "engine/ground_truth/cpu/kernels.h"
#include "nn/isa.h"

namespace neuroshard {

/// The kernels of an instruction set.
const LookupKernels& lookup_kernels(nn::Isa isa);

}  // namespace neuroshard
