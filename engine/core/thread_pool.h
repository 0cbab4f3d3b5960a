#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace neuroshard {

/// A fixed set of threads that run the same loop together. `parallel_for` may be called from one
/// thread at a time; the caller works too, so a pool of 1 has no thread of its own. Where the
/// system gives fewer threads than asked for, the pool has those: results do not depend on it.
class ThreadPool {
 public:
  /// `threads` >= 1; 0 means one per hardware thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(index, worker) once for each index in [0, count) and returns when all are done.
  /// `worker` is in [0, size()). Which worker gets which index is not fixed: results must depend on
  /// the index alone (DESIGN: same bytes out, whatever the thread count). What `body` throws
  /// (std::bad_alloc, ours or a callback's) ends the loop early and is thrown on to the caller.
  void parallel_for(std::int64_t count,
                    const std::function<void(std::int64_t index, int worker)>& body);

 private:
  void work(int worker);
  void run_share(int worker) noexcept;

  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable finished_;
  const std::function<void(std::int64_t, int)>* body_ = nullptr;
  std::atomic<std::int64_t> next_{0};
  std::int64_t count_ = 0;
  std::uint64_t generation_ = 0;
  int running_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;  // the first one of this loop
  std::vector<std::thread> workers_;
};

}  // namespace neuroshard
