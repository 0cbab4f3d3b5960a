#pragma once

#include <cstdint>

namespace neuroshard::test {

/// Bytes that operator new gave out in this program, libengine included, and nobody gave back.
std::int64_t live_bytes();
/// How often operator new was called.
std::int64_t allocations();

/// While it lives, operator new fails in every thread after `count` more successes.
class AllocationLimit {
 public:
  explicit AllocationLimit(std::int64_t count);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;
};

}  // namespace neuroshard::test
