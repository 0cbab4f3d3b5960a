#pragma once

// The beginning of a step of a set network, which looks at one member at a time. Knows no CUDA.

#include <cstddef>
#include <optional>

#include "cuda/training/op_list.h"

namespace neuroshard::cuda {

/// Most hidden values of an encoder that a block takes its rows through; of inputs and outputs,
/// kNarrow.
inline constexpr int kEncoderHidden = 128;

/// Rows of features, and two layers with a ReLU each.
struct SetEncoder {
  nn::GatherRows gather;
  nn::DenseForward hidden;
  nn::DenseForward output;
};
inline constexpr std::size_t kEncoderOps = 3;

/// The encoder that operation `i` begins, if it is narrow enough and no mask of its first ReLU is
/// wanted.
std::optional<SetEncoder> find_encoder(const OpList& list, std::size_t i);

}  // namespace neuroshard::cuda
