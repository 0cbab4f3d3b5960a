#pragma once

#include <cstdint>

#include "engine/core/aligned_vector.h"
#include "engine/core/thread_pool.h"

namespace neuroshard {

/// Empties the processor's caches of what a measurement left there, by streaming over a buffer of
/// twice the last-level cache. Use from one thread at a time.
class CacheFlush {
 public:
  /// Sized for this machine.
  CacheFlush();
  void flush(ThreadPool& pool);

 private:
  AlignedVector<std::uint64_t> buffer_;
};

/// Bytes of the largest cache of this machine (Linux sysfs), 64 MiB when it does not say.
std::int64_t last_level_cache_bytes();

}  // namespace neuroshard
