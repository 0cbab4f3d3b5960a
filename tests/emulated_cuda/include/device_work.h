#pragma once

#include <cuda_runtime.h>

namespace cub {

inline constexpr std::size_t kWorkBytes = 1024;

/// CUB's way to be called: without memory to work in it says how much it takes, with it `prepare`
/// gives what goes into the stream.
template <typename Prepare>
cudaError_t device_work(void* work, std::size_t& bytes, cudaStream_t stream,
                        const Prepare& prepare) {
  if (work == nullptr) {
    bytes = kWorkBytes;
    return cudaSuccess;
  }
  if (bytes < kWorkBytes) return cudaErrorInvalidValue;
  const cudaError_t written = cudaMemsetAsync(work, 0xff, kWorkBytes, stream);
  if (written != cudaSuccess) return written;
  return neuroshard::emulation::launch({.gridDim = {}, .blockDim = {}, .stream = stream},
                                       prepare());
}

}  // namespace cub
