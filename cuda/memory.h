#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard::cuda {

// Device memory as bytes; Buffer below is what to use. All of them work in the order of the default
// stream; uploads and downloads are complete when they return.

/// Errors: kUnavailable without a device, kInternal when there is not enough memory.
Result<void*> allocate(std::size_t bytes);
void release(void* memory) noexcept;
Status upload(void* to, const void* from, std::size_t bytes);
Status download(void* to, const void* from, std::size_t bytes);
/// Within the device.
Status copy(void* to, const void* from, std::size_t bytes);
Status fill_zero(void* memory, std::size_t bytes);
/// Fills `count` weights with values in [-0.01, 0.01) that depend on their position alone.
Status fill_small_values(void* memory, std::size_t count, DataType type);

/// An array in the memory of the device, aligned to 256 bytes; freed with the object. Move-only,
/// not thread-safe.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;

  /// Room for at least `count` elements; contents are lost when it has to grow.
  Status reserve(std::size_t count) {
    if (count <= capacity_) return {};
    data_.reset();
    capacity_ = 0;
    NEUROSHARD_ASSIGN_OR_RETURN(void* memory, allocate(count * sizeof(T)));
    data_.reset(static_cast<T*>(memory));
    capacity_ = count;
    return {};
  }

  /// Room for `host` and a copy of it at the front.
  Status assign(std::span<const T> host) {
    NEUROSHARD_RETURN_IF_ERROR(reserve(host.size()));
    return upload(data_.get(), host.data(), host.size_bytes());
  }

  /// Copies the first host.size() elements out. REQUIRES host.size() <= capacity().
  Status read(std::span<T> host) const {
    assert(host.size() <= capacity_);
    return download(host.data(), data_.get(), host.size_bytes());
  }

  /// REQUIRES count <= capacity().
  Status zero(std::size_t count) { return fill_zero(data_.get(), count * sizeof(T)); }

  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  struct Release {
    void operator()(T* memory) const noexcept { release(memory); }
  };
  std::unique_ptr<T[], Release> data_;
  std::size_t capacity_ = 0;
};

}  // namespace neuroshard::cuda
