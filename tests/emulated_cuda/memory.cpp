#include "tests/emulated_cuda/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace neuroshard::emulation {
namespace {

constexpr std::size_t kAlignment = 256;

/// Blocks by where they begin.
class Blocks {
 public:
  void* add(std::size_t bytes) {
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, std::max<std::size_t>(bytes, 1)) != 0) return nullptr;
    blocks_[static_cast<std::byte*>(memory)] = bytes;
    total_ += bytes;
    return memory;
  }
  bool remove(void* memory) {
    const auto found = blocks_.find(static_cast<std::byte*>(memory));
    if (found == blocks_.end()) return false;
    total_ -= found->second;
    std::free(memory);
    blocks_.erase(found);
    return true;
  }
  [[nodiscard]] bool hold(const void* memory, std::size_t bytes) const {
    const auto* at = static_cast<const std::byte*>(memory);
    auto next = blocks_.upper_bound(const_cast<std::byte*>(at));
    if (next == blocks_.begin()) return false;
    const auto& [begin, size] = *std::prev(next);
    return at + bytes <= begin + size;
  }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  std::map<std::byte*, std::size_t> blocks_;  ///< and their bytes
  std::size_t total_ = 0;
};

Blocks device_blocks;
Blocks pinned_blocks;

struct Rows {
  Target to;
  Source from;
  std::size_t width;
  std::size_t height;

  void copy() const {
    for (std::size_t row = 0; row < height; ++row) {
      std::memcpy(static_cast<std::byte*>(to.memory) + row * to.pitch,
                  static_cast<const std::byte*>(from.memory) + row * from.pitch, width);
    }
  }
};

std::size_t extent(std::size_t pitch, std::size_t width, std::size_t height) {
  return (height - 1) * pitch + width;
}

}  // namespace

cudaError_t allocate_on_device(void** memory, std::size_t bytes) {
  *memory = nullptr;
  if (bytes > kDeviceBytes - device_blocks.total()) return cudaErrorMemoryAllocation;
  *memory = device_blocks.add(bytes);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*memory, 0xff, bytes);
  return cudaSuccess;
}

cudaError_t free_on_device(void* memory) {
  return device_blocks.remove(memory) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t allocate_pinned(void** memory, std::size_t bytes) {
  *memory = pinned_blocks.add(bytes);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t free_pinned(void* memory) {
  return pinned_blocks.remove(memory) ? cudaSuccess : cudaErrorInvalidValue;
}

bool is_pinned(const void* memory, std::size_t bytes) { return pinned_blocks.hold(memory, bytes); }

cudaError_t copy_in_stream(Stream& stream, Target to, Source from, std::size_t width,
                           std::size_t height, cudaMemcpyKind kind) {
  if (width == 0 || height == 0) return cudaSuccess;
  const bool to_device = kind != cudaMemcpyDeviceToHost;
  const bool from_device = kind != cudaMemcpyHostToDevice;
  const bool pitched = to.pitch >= width && from.pitch >= width;
  if (!pitched || device_blocks.hold(to.memory, extent(to.pitch, width, height)) != to_device ||
      device_blocks.hold(from.memory, extent(from.pitch, width, height)) != from_device) {
    return cudaErrorInvalidValue;
  }
  const Rows rows{to, from, width, height};
  if (from_device || stream.capturing() ||
      is_pinned(from.memory, extent(from.pitch, width, height))) {
    stream.add([rows] {
      rows.copy();
      return true;
    });
    return cudaSuccess;
  }
  std::vector<std::byte> read(width * height);
  Rows{{read.data(), width}, from, width, height}.copy();
  stream.add([rows, read = std::move(read)] {
    Rows{rows.to, {read.data(), rows.width}, rows.width, rows.height}.copy();
    return true;
  });
  return cudaSuccess;
}

cudaError_t fill_in_stream(Stream& stream, void* memory, int value, std::size_t bytes) {
  if (!device_blocks.hold(memory, bytes)) return cudaErrorInvalidValue;
  stream.add([=] {
    std::memset(memory, value, bytes);
    return true;
  });
  return cudaSuccess;
}

}  // namespace neuroshard::emulation
