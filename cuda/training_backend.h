#pragma once

#include "engine/core/status.h"
#include "nn/backend.h"

namespace neuroshard::cuda {

/// Training on the current GPU: products by cuBLASLt, with bias, ReLU and bias gradient fused into
/// them, everything else by kernels of this room. cuBLASLt is opened on the first call, from the
/// system's libraries, NEUROSHARD_CUDA_LIBRARIES (a folder) or CUDA_HOME. Results agree with the
/// CPU's within rounding, not bit for bit. Lives until the program ends. Thread-safe.
/// Errors: kUnavailable without a GPU or cuBLASLt, in one line that names what is missing.
Result<const nn::Backend*> training_backend();

}  // namespace neuroshard::cuda
