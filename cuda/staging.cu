#include <cstring>

#include "cuda/check.h"
#include "cuda/staging.h"

namespace neuroshard::cuda {
namespace {

constexpr std::size_t kRingBytes = std::size_t{8} << 20;  // some hundred batches
constexpr std::size_t kAlignment = 256;

}  // namespace

Staging::~Staging() {
  if (ring_ != nullptr) cudaFreeHost(ring_);
}

Status Staging::copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return {};
  if (bytes > kRingBytes) {  // a data set, once
    NEUROSHARD_CUDA_RETURN_IF_ERROR(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
    NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
    return {};
  }
  if (ring_ == nullptr) {
    void* memory = nullptr;
    NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaHostAlloc(&memory, kRingBytes, cudaHostAllocDefault));
    ring_ = static_cast<std::byte*>(memory);
  }
  if (next_ + bytes > kRingBytes) {  // from the front again, when everything there has left
    NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
    next_ = 0;
  }
  std::byte* const at = ring_ + next_;
  std::memcpy(at, from, bytes);
  next_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(to, at, bytes, cudaMemcpyHostToDevice, stream));
  return {};
}

}  // namespace neuroshard::cuda
