#pragma once

// Small copies to the GPU, several at once.

#include "cuda/training/small_copies.h"

namespace neuroshard::cuda {

inline constexpr int kCopyThreads = 256;
/// Blocks for each copy.
inline constexpr int kCopyBlocks = 16;

/// blockIdx.y is the copy.
__global__ void small_copies_kernel(SmallCopies all) {
  const SmallCopies::Copy copy = all.copies[blockIdx.y];
  for (std::uint32_t i = blockIdx.x * kCopyThreads + threadIdx.x; i < copy.words;
       i += kCopyBlocks * kCopyThreads) {
    copy.to[i] = copy.from[i];
  }
}

}  // namespace neuroshard::cuda
