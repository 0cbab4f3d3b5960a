#pragma once

#include <cuda_runtime.h>

#include <string>

#include "engine/core/status.h"

namespace neuroshard::cuda {

/// kUnavailable when there is no driver or no device, else kInternal; names call and place.
inline Status status_of(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return {};
  const std::string path = file;  // the folders above the source tree are nobody's business
  const std::size_t name = path.rfind("cuda/");
  const std::string text = std::string(cudaGetErrorString(error)) + " (" + call + ", " +
                           path.substr(name == std::string::npos ? 0 : name) + ":" +
                           std::to_string(line) + ")";
  const bool missing = error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice ||
                       error == cudaErrorNoKernelImageForDevice;
  return missing ? unavailable("backend cuda: " + text) : internal_error("backend cuda: " + text);
}

}  // namespace neuroshard::cuda

/// Returns from the calling function (Status or Result) when a call of the CUDA runtime fails.
#define NEUROSHARD_CUDA_RETURN_IF_ERROR(call) \
  NEUROSHARD_RETURN_IF_ERROR(::neuroshard::cuda::status_of((call), #call, __FILE__, __LINE__))
