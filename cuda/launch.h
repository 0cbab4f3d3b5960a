#pragma once

// For CUDA sources only.

#include <cuda_runtime.h>

#include "cuda/check.h"

namespace neuroshard::cuda {

/// Where and how wide a kernel runs. Made in place by who launches it: errors name that line.
struct Grid {
  Grid(dim3 blocks_, dim3 threads_, cudaStream_t stream_ = nullptr,
       const char* file_ = __builtin_FILE(), int line_ = __builtin_LINE())
      : blocks(blocks_), threads(threads_), stream(stream_), file(file_), line(line_) {}

  dim3 blocks;
  dim3 threads;  ///< of a block
  cudaStream_t stream;
  const char* file;
  int line;
};

/// Puts a kernel into the grid's stream. Arguments are converted to its parameters and copied now.
/// Errors: as status_of; the device forgets them.
template <typename... Parameters, typename... Arguments>
Status launch(const Grid& grid, void (*kernel)(Parameters...), const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid.blocks;
  config.blockDim = grid.threads;
  config.stream = grid.stream;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return status_of(error, "kernel launch", grid.file, grid.line);
}

}  // namespace neuroshard::cuda
