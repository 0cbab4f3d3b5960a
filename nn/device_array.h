#pragma once

#include <cassert>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/core/status.h"
#include "nn/backend.h"

namespace neuroshard::nn {

/// An array in a backend's memory; freed with the object. Move-only, not thread-safe. The backend
/// must outlive it.
template <typename T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit DeviceArray(const Backend& backend) : backend_(&backend) {}
  ~DeviceArray() { backend_->release(data_); }
  DeviceArray(DeviceArray&& other) noexcept
      : backend_(other.backend_),
        data_(std::exchange(other.data_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  /// Room for at least `count` elements; contents are lost when it has to grow.
  Status reserve(std::size_t count) {
    if (count <= capacity_) return {};
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) return exhausted(count);
    void* grown = backend_->allocate(count * sizeof(T));
    if (grown == nullptr) return exhausted(count);
    backend_->release(data_);
    data_ = static_cast<T*>(grown);
    capacity_ = count;
    return {};
  }

  /// Room for `host` and a copy of it at the front.
  Status assign(std::span<const T> host) {
    NEUROSHARD_RETURN_IF_ERROR(reserve(host.size()));
    backend_->upload(data_, host.data(), host.size_bytes());
    return {};
  }

  /// Copies the first host.size() elements out. REQUIRES host.size() <= capacity().
  Status read(std::span<T> host) const {
    assert(host.size() <= capacity_);
    backend_->download(host.data(), data_, host.size_bytes());
    return backend_->synchronize();
  }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

 private:
  static Status exhausted(std::size_t count) {
    return internal_error("out of memory: " + std::to_string(count) + " elements of " +
                          std::to_string(sizeof(T)) + " bytes");
  }

  const Backend* backend_;
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace neuroshard::nn
