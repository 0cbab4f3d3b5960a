#pragma once

#include <memory>

#include "engine/ground_truth/ground_truth.h"

namespace neuroshard {

/// The simulated ground truth of options.profile. Deterministic: same input, same doubles.
/// Errors: kInvalidInput as make_ground_truth.
Result<std::unique_ptr<GroundTruth>> make_sim_ground_truth(const GroundTruthOptions& options);

}  // namespace neuroshard
