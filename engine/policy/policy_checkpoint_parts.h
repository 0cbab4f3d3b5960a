#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/status.h"
#include "engine/cost_model/metadata_reader.h"
#include "engine/policy/policy_training.h"
#include "io/safetensors.h"

namespace neuroshard {

// What the checkpoints of all trainings of policies are made of. What is taken is removed, so that
// what is left over is unknown. Errors name the key or tensor, not the file.

/// What a training is of, by the names that its checkpoint has.
using PolicySettings = std::map<std::string, std::string>;

/// Takes all of them. Error: one that is missing, or another one than here.
Status check_policy_settings(MetadataReader& metadata, const PolicySettings& settings);

/// A tensor of one dimension.
void put_vector(const std::string& name, std::vector<float> values, io::TensorFile& file);
Result<std::vector<float>> take_vector(const std::string& name, io::TensorFile& file);
/// Error when a tensor was not taken.
Status check_no_tensor(const io::TensorFile& file);

void put_policy_state(const PolicyTrainingState& state, io::TensorFile& file);
/// One that has parameters, with as many values of the optimizer. Whether the policy has so many is
/// asked by PolicyTrainer::set_state().
Result<PolicyTrainingState> take_policy_state(MetadataReader& metadata, io::TensorFile& file);

}  // namespace neuroshard
