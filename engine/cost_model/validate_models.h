#pragma once

#include <cstdint>
#include <string>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// Whether the parts of a model fit together: as many inputs as features, positive scales, layers
/// that follow each other, outputs of the size the architecture gives. What prediction relies on.
/// Messages name tensors as in the model file: "compute.head.0.weight: shape [64,31], expected
/// [64,32]". Errors: kInvalidInput.
Status validate(const ComputeModel& model);
Status validate(const CommModels& models);
Status validate(const CostModels& models);

/// The batch sizes that the models have been trained on: "4096", or "4096 to 131072".
std::string describe_batch_sizes(const CostModels& models);

/// kInvalidInput when the models have not been trained on global batches of this size, neither on
/// smaller and larger ones: what they would say is a guess. TorchRec's formula takes any.
Status check_batch_size(const CostModels& models, std::int64_t batch_size);

}  // namespace neuroshard
