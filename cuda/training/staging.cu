#include <cstring>

#include "cuda/check.h"
#include "cuda/launch.h"
#include "cuda/training/staging.h"
#include "cuda/training/staging_kernels.cuh"

namespace neuroshard::cuda {
namespace {

constexpr std::size_t kRingBytes = std::size_t{8} << 20;  // some hundred batches
constexpr std::size_t kAlignment = 256;
constexpr std::size_t kSmallBytes = std::size_t{128} << 10;

}  // namespace

Staging::~Staging() {
  if (ring_ != nullptr) cudaFreeHost(ring_);
}

Status Staging::copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return {};
  const bool small =
      bytes <= kSmallBytes && bytes % 4 == 0 && reinterpret_cast<std::uintptr_t>(to) % 4 == 0;
  if (!small || collected_.count == kMostCopies || collected_.write(to, bytes)) {
    NEUROSHARD_RETURN_IF_ERROR(send(stream));
  }
  if (bytes > kRingBytes) {  // a data set, once
    NEUROSHARD_CUDA_RETURN_IF_ERROR(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
    NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
    return {};
  }
  NEUROSHARD_RETURN_IF_ERROR(make_room(bytes, stream));
  std::memcpy(ring_ + next_, from, bytes);
  const std::size_t at = next_;
  next_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (!small) {
    NEUROSHARD_CUDA_RETURN_IF_ERROR(
        cudaMemcpyAsync(to, ring_ + at, bytes, cudaMemcpyHostToDevice, stream));
    return {};
  }
  collected_.copies[collected_.count++] = {
      static_cast<std::uint32_t*>(to), reinterpret_cast<const std::uint32_t*>(device_ring_ + at),
      static_cast<std::uint32_t>(bytes / 4)};
  return {};
}

Status Staging::send(cudaStream_t stream) {
  if (collected_.count == 0) return {};
  const dim3 grid(kCopyBlocks, static_cast<unsigned>(collected_.count));
  const Status sent = launch({grid, kCopyThreads, stream}, small_copies_kernel, collected_);
  collected_.count = 0;
  return sent;
}

Status Staging::make_room(std::size_t bytes, cudaStream_t stream) {
  if (ring_ == nullptr) {
    void* memory = nullptr;
    void* seen = nullptr;
    NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaHostAlloc(&memory, kRingBytes, cudaHostAllocMapped));
    ring_ = static_cast<std::byte*>(memory);
    NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaHostGetDevicePointer(&seen, memory, 0));
    device_ring_ = static_cast<std::byte*>(seen);
  }
  if (next_ + bytes <= kRingBytes) return {};
  NEUROSHARD_RETURN_IF_ERROR(send(stream));
  // From the front again, when everything there has left.
  NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  next_ = 0;
  return {};
}

}  // namespace neuroshard::cuda
