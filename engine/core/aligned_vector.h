#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace neuroshard {

/// Memory that starts on a cache line, so that a vector register never straddles two.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT: the standard asks for it implicit

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* data, std::size_t) { ::operator delete(data, kAlignment); }

  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) { return true; }
};

/// A std::vector whose data() is aligned to 64 bytes.
template <typename T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace neuroshard
