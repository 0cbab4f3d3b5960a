#pragma once

// For CUDA sources only.

#include <cuda_runtime.h>

#include <cstddef>

#include "cuda/training/small_copies.h"
#include "engine/core/status.h"

namespace neuroshard::cuda {

/// Copies to the GPU that do not wait for it: the bytes go through pinned memory that is used round
/// and round. Small copies are collected and made by one kernel, which reads that memory: a batch
/// is a handful of them, and each on its own would take as long as a kernel does. For one stream;
/// not thread-safe.
class Staging {
 public:
  Staging() = default;
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// `from` may be reused at once. The copy is in the stream's order once send() has been called.
  Status copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream);
  /// Gives what was collected to the stream.
  Status send(cudaStream_t stream);

 private:
  Status make_room(std::size_t bytes, cudaStream_t stream);

  std::byte* ring_ = nullptr;
  std::byte* device_ring_ = nullptr;  ///< the same memory, as the GPU sees it
  std::size_t next_ = 0;
  SmallCopies collected_{};
};

}  // namespace neuroshard::cuda
