#pragma once

#include <vector>

#include "engine/training/fit_problem.h"
#include "nn/mlp.h"

namespace neuroshard {

/// The members of a fit as one network that predicts milliseconds, or their logarithm: the mean of
/// what they say. `parameters` are FitResult::parameters.
struct MergedMembers {
  nn::Mlp table;  ///< encoders side by side
  nn::Mlp head;
};
MergedMembers merge_members(const FitProblem& problem,
                            const std::vector<std::vector<float>>& parameters);

/// The same of networks that are a head alone.
nn::Mlp merge_heads(const FitProblem& problem, const std::vector<std::vector<float>>& parameters);

}  // namespace neuroshard
