#pragma once

#include <memory>

#include "engine/ground_truth/ground_truth.h"

namespace neuroshard {

/// Measures on this machine: lookups with options.threads threads, ranks of an all-to-all as
/// threads. fp32 tables only. Errors: as make_ground_truth; kInvalidInput for a bad
/// NEUROSHARD_BACKEND or run counts below 1.
Result<std::unique_ptr<GroundTruth>> make_cpu_ground_truth(const GroundTruthOptions& options);

}  // namespace neuroshard
