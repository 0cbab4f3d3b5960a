#pragma once

#include <cstdint>
#include <memory>

#include "engine/core/thread_pool.h"

namespace neuroshard {

/// Empties the processor's caches of what a measurement left there, by streaming over a buffer of
/// twice the last-level cache. Use from one thread at a time.
class CacheFlush {
 public:
  /// Sized for this machine. The buffer takes memory when it is first streamed over: it can be a
  /// gigabyte, which whoever is refused before a measurement does not wait for.
  CacheFlush();
  void flush(ThreadPool& pool);

 private:
  std::int64_t words_;
  std::unique_ptr<std::uint64_t[]> buffer_;
};

/// Bytes of the largest cache of this machine (Linux sysfs), 64 MiB when it does not say.
std::int64_t last_level_cache_bytes();

}  // namespace neuroshard
