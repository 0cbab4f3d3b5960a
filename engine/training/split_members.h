#pragma once

#include <vector>

#include "engine/cost_model/cost_models.h"
#include "nn/mlp.h"

namespace neuroshard {

/// The networks that the model says the mean of (merge_members()), found by the zeros between their
/// parts; the model itself where it is one, and one of them where all are the same. A constant of
/// its own that a member adds to all it says is not in the model any more: each has the mean of
/// those.
std::vector<ComputeModel> members_of(const ComputeModel& model);

/// The same of a network that is a head alone (merge_heads()).
std::vector<nn::Mlp> members_of(const nn::Mlp& mlp);

}  // namespace neuroshard
