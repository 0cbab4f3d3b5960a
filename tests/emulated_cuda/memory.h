#pragma once

// Memory of the device and pinned memory of the host: blocks of the heap that are known, so that a
// copy to the wrong side or behind an end is refused, and kernels that reach behind one are found
// by the address sanitizer. New memory of the device holds NaNs.

#include <cuda_runtime.h>

#include <cstddef>

#include "tests/emulated_cuda/streams.h"

namespace neuroshard::emulation {

inline constexpr std::size_t kDeviceBytes = std::size_t{4} << 30;

cudaError_t allocate_on_device(void** memory, std::size_t bytes);
cudaError_t free_on_device(void* memory);
cudaError_t allocate_pinned(void** memory, std::size_t bytes);
cudaError_t free_pinned(void* memory);
bool is_pinned(const void* memory, std::size_t bytes);

/// Rows, and the bytes from one to the next.
struct Target {
  void* memory;
  std::size_t pitch;
};
struct Source {
  const void* memory;
  std::size_t pitch;
};
/// As CUDA: what comes from the host is read at once unless it is pinned or captured.
cudaError_t copy_in_stream(Stream& stream, Target to, Source from, std::size_t width,
                           std::size_t height, cudaMemcpyKind kind);
cudaError_t fill_in_stream(Stream& stream, void* memory, int value, std::size_t bytes);

}  // namespace neuroshard::emulation
