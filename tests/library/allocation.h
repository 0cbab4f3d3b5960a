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

/// While it lives, one call of operator new fails, that after `index` others, and all others
/// succeed: what comes after the failure has the memory to do something wrong.
class SingleFailure {
 public:
  explicit SingleFailure(std::int64_t index);
  ~SingleFailure();
  SingleFailure(const SingleFailure&) = delete;
  SingleFailure& operator=(const SingleFailure&) = delete;
  [[nodiscard]] bool happened() const;
};

}  // namespace neuroshard::test
