#pragma once

#include <span>
#include <vector>

#include "nn/mlp.h"

namespace neuroshard::nn {

/// Networks of equal shape side by side in one that is as many times wider: layers keep to their
/// own part (weights between the parts are 0). Outputs stand behind each other.
Mlp stack_side_by_side(std::span<const Mlp> networks);

/// The same, but the last layer says the mean of the networks' outputs. With `split_inputs` each
/// network has inputs of its own, behind each other; without, all read the same.
Mlp average_of(std::span<const Mlp> networks, bool split_inputs);

}  // namespace neuroshard::nn
