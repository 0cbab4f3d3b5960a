#pragma once

#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/joint_state.h"
#include "engine/policy/policy_checkpoint_parts.h"

namespace neuroshard {

/// Where a training of a policy together with its cost networks stands as a safetensors file with
/// metadata format=neuroshard-joint-checkpoint, version 1 (docs/FILE_FORMATS.md), that says what
/// the training is of. The same bytes for the same values. REQUIRES finite times that are in the
/// range of float, and at most kMostCheckpointTables tables in the pool.
std::string format_joint_checkpoint(const PolicySettings& settings,
                                    const JointTrainingState& state);

/// Numbers of tables beyond that are no float32.
inline constexpr std::int32_t kMostCheckpointTables = 1 << 24;

/// All numbers as they were written, to the bit. Errors: kInvalidInput naming the source and the
/// key or tensor that is missing, unknown or out of range, a setting that is another one than in
/// `settings`, or what no training in such rounds on the pool comes to.
Result<JointTrainingState> parse_joint_checkpoint(std::string_view bytes, const std::string& source,
                                                  const PolicySettings& settings,
                                                  const JointRounds& rounds, const Workload& pool);

}  // namespace neuroshard
