#pragma once

// The middle of a step of a set network, which looks at one set at a time. Knows no CUDA.

#include <cstddef>
#include <optional>
#include <span>

#include "cuda/training/op_list.h"

namespace neuroshard::cuda {

/// Most inputs and hidden values of a head that one warp takes through its layers: one and two a
/// lane.
inline constexpr int kHeadInputs = 32;
inline constexpr int kHeadHidden = 64;

/// From the members of sets to one prediction a set, its loss, and back to the members and through
/// the ReLU that they come from. Only gradients of weights and the sum of the losses look at
/// several sets.
struct SetHead {
  nn::SegmentSum sum;
  nn::DenseForward hidden;
  nn::DenseForward output;
  nn::Loss loss;
  nn::DenseBackward output_back;
  nn::DenseBackward hidden_back;
  nn::SegmentSumBackward spread;
  nn::ReluBackward gate;
};
inline constexpr std::size_t kHeadOps = 8;

/// The head at the front of `ops`, if those are its operations and it is narrow enough.
std::optional<SetHead> find_head(std::span<const TrainingOp> ops);

}  // namespace neuroshard::cuda
