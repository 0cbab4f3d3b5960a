#pragma once

// For CUDA sources only.

#include <cuda_runtime.h>

#include <cstddef>

#include "engine/core/status.h"

namespace neuroshard::cuda {

/// Copies to the GPU that do not wait for it: the bytes go through pinned memory that is used round
/// and round. For one stream; not thread-safe.
class Staging {
 public:
  Staging() = default;
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// In the stream's order; `from` may be reused at once.
  Status copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

 private:
  std::byte* ring_ = nullptr;
  std::size_t next_ = 0;
};

}  // namespace neuroshard::cuda
