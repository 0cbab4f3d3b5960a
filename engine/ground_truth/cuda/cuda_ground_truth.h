#pragma once

#include <memory>

#include "engine/ground_truth/ground_truth.h"

namespace neuroshard {

/// Measures on the current GPU, with the kernels of cuda/: each sample's tables are carved from one
/// arena, lookups come from pools that are made once per table on the GPU and are, index by index,
/// those the CPU's ground truth uses. Times are the GPU's, behind an emptied L2. The all-to-all of
/// several GPUs is not measured. Errors: as make_ground_truth; kInvalidInput for run counts
/// below 1.
Result<std::unique_ptr<GroundTruth>> make_cuda_ground_truth(const GroundTruthOptions& options);

/// The GPU that it would measure on, "NVIDIA H100 80GB HBM3"; "" where there is none.
std::string name_of_gpu();

}  // namespace neuroshard
