#pragma once

#include <vector>

#include "engine/core/status.h"
#include "engine/policy/policy_model.h"
#include "io/safetensors.h"

namespace neuroshard {

/// Writes the tensors of a recurrent policy's LSTM; of others, nothing.
void put_policy_lstm(const PolicyModel& model, io::TensorFile& file);

/// Takes them out: parameters as PolicyModel has them, none where the file has no such tensor.
/// Errors name the tensor.
Result<std::vector<float>> take_policy_lstm(io::TensorFile& file);

}  // namespace neuroshard
