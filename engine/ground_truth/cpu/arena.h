#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/core/status.h"
#include "engine/core/thread_pool.h"

namespace neuroshard {

inline constexpr std::int64_t kFloatsPerLine = 16;

/// `floats` rounded up to whole cache lines: pieces of an arena begin on one.
constexpr std::int64_t whole_lines(std::int64_t floats) {
  return (floats + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
}

/// Floats that stay in memory from one measurement to the next: reserved once, filled when first
/// asked for, so that a measurement pays no page faults for memory an earlier one had. Large pages
/// are asked for, as random row reads otherwise wait for address translation. Movable; use from one
/// thread at a time.
class Arena {
 public:
  /// Reserves addresses for `floats` values. Errors: kInternal when the system refuses.
  static Result<Arena> reserve(std::int64_t floats);

  /// The arena's start with at least `floats` values that are there; those that are new are filled
  /// with small random values (or `zero`). REQUIRES floats <= size(). Errors: kUnavailable when the
  /// machine has too little memory left for the new ones, named `what`.
  Result<float*> take(std::int64_t floats, const char* what, ThreadPool& pool, bool zero = false);

  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(float* data) const;
  };
  Arena(std::unique_ptr<float[], Unmap> data, std::int64_t size)
      : data_(std::move(data)), size_(size) {}

  std::unique_ptr<float[], Unmap> data_;
  std::int64_t size_;
  std::int64_t filled_ = 0;
};

}  // namespace neuroshard
