#pragma once

#include <cstdint>
#include <functional>

#include "engine/core/thread_pool.h"

namespace neuroshard::search {

/// Threads of a search: those of `pool`, or the calling one.
inline int workers_of(const ThreadPool* pool) { return pool == nullptr ? 1 : pool->size(); }

/// ThreadPool::parallel_for(), or a plain loop when there is no pool.
inline void for_each_index(ThreadPool* pool, std::int64_t count,
                           const std::function<void(std::int64_t index, int worker)>& body) {
  if (pool != nullptr) {
    pool->parallel_for(count, body);
    return;
  }
  for (std::int64_t index = 0; index < count; ++index) body(index, 0);
}

}  // namespace neuroshard::search
