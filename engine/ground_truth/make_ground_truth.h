#pragma once

#include <memory>

#include "engine/core/status.h"
#include "engine/ground_truth/ground_truth.h"
#include "io/cost_data/collection.h"

namespace neuroshard {

/// Errors: kInvalidInput for an unknown profile or a bad profile file (known names are listed) and
/// for more `max_memory_bytes` than the device of a profile has or cuda's has, kUnavailable for
/// cuda in a build or on a machine without it, kInternal when the arena of `max_memory_bytes`
/// cannot be had.
Result<std::unique_ptr<GroundTruth>> make_ground_truth(io::Backend backend,
                                                       const GroundTruthOptions& options);

}  // namespace neuroshard
