#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "engine/policy/policy_checkpoint_parts.h"
#include "engine/policy/policy_model.h"
#include "engine/policy/policy_training.h"

namespace neuroshard {

/// What all trainings are of: options, pool and the global batch size of that.
PolicySettings training_settings(const PolicyTrainOptions& options, const std::string& pool_sha256,
                                 std::int64_t batch_size);
/// The same and the cost model.
PolicySettings policy_settings(const PolicyTrainOptions& options, const PolicyOrigin& origin,
                               std::int64_t batch_size);

/// Where a training stands as a safetensors file with metadata format=neuroshard-policy-checkpoint,
/// version 1 (docs/FILE_FORMATS.md), that says what the training is of. The same bytes for the same
/// values.
std::string format_policy_checkpoint(const PolicySettings& settings,
                                     const PolicyTrainingState& state);

/// Errors: kInvalidInput naming the source and the key or tensor that is missing, unknown or out of
/// range, or a setting that is another one than in `settings`.
Result<PolicyTrainingState> parse_policy_checkpoint(std::string_view bytes,
                                                    const std::string& source,
                                                    const PolicySettings& settings);

}  // namespace neuroshard
