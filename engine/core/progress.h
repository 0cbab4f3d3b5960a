#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace neuroshard {

/// Where long work reports how far it is. The library never prints; the caller decides what to
/// show. Calls come from one thread at a time, possibly not the one that started the work.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  /// `done` of `total` units ("samples", "epochs", ...) of `phase` are finished; total 0 = unknown.
  /// "s": seconds of a time limit.
  virtual void update(std::string_view phase, std::int64_t done, std::int64_t total,
                      std::string_view unit) = 0;
};

/// Set by the caller (a signal handler, another thread) to end long work early; work polls it.
class CancelToken {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  /// For the next work. REQUIRES that none uses the token.
  void reset() { cancelled_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may set it");
};

}  // namespace neuroshard
