#pragma once

#include <vector>

#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "engine/training/dataset.h"

namespace neuroshard {

/// How far the members of the model disagree about each sample: the standard deviation of what they
/// say, milliseconds; infinite for networks that overflow. Members are put so that each says as
/// much as the model in the mean of all samples, as their own constants are not known: the samples
/// have to be many. Errors: kInvalidInput for a model of one network, ids outside the pool, memory.
/// REQUIRES validate(model).ok().
Result<std::vector<double>> member_spread(const ComputeModel& model, const ComputeDataset& dataset);

}  // namespace neuroshard
