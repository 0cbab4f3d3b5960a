// This program's operator new and delete, which libengine.so uses too: they count, and fail when a
// test wants it.
#include "tests/library/allocation.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> live{0};
std::atomic<std::int64_t> made{0};
std::atomic<std::int64_t> allowed{kNoLimit};
std::atomic<std::int64_t> until_failure{kNoLimit};

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (allowed.load() != kNoLimit && allowed.fetch_sub(1) <= 0) return nullptr;
  if (until_failure.load() != kNoLimit && until_failure.fetch_sub(1) == 0) return nullptr;
  if (size == 0) size = 1;
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  void* memory = whole < size ? nullptr : std::aligned_alloc(alignment, whole);
  if (memory != nullptr) {
    live.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)));
    made.fetch_add(1);
  }
  return memory;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  if (void* memory = allocate(size, alignment)) return memory;
  throw std::bad_alloc();
}

void release(void* memory) noexcept {
  if (memory != nullptr) live.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)));
  std::free(memory);
}

constexpr std::size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
std::size_t plain(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size, kUsual); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, kUsual); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, plain(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, plain(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, kUsual);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, kUsual);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }

namespace neuroshard::test {

std::int64_t live_bytes() { return live.load(); }
std::int64_t allocations() { return made.load(); }

AllocationLimit::AllocationLimit(std::int64_t count) { allowed.store(count); }
AllocationLimit::~AllocationLimit() { allowed.store(kNoLimit); }

SingleFailure::SingleFailure(std::int64_t index) { until_failure.store(index); }
SingleFailure::~SingleFailure() { until_failure.store(kNoLimit); }
bool SingleFailure::happened() const { return until_failure.load() < 0; }

}  // namespace neuroshard::test
