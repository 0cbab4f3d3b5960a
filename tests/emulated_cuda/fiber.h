#pragma once

#include <cstddef>
#include <functional>

namespace neuroshard::emulation {

/// A function with a stack of its own that can stop in its middle. Whoever resumes it goes on when
/// it stops or ends. Not thread-safe; used by one thread at a time.
class Fiber {
 public:
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10;  ///< of which few are touched

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Sets what it will do. REQUIRES that it has ended or not begun.
  void start(std::function<void()> work);
  /// Until it stops or ends. REQUIRES start().
  void resume();
  /// Called within it: back to who has resumed it.
  void stop() { leave(false); }
  [[nodiscard]] const std::byte* stack() const { return stack_; }

 private:
  static void enter();
  void leave(bool for_good);

  std::byte* stack_;
  void* own_;                 ///< stack pointer while it does not run
  void* resumers_ = nullptr;  ///< while it does
  std::function<void()> work_;
  // Of the address sanitizer, which has to know of every change of stacks.
  void* own_frames_ = nullptr;
  const void* resumers_stack_ = nullptr;
  std::size_t resumers_bytes_ = 0;
};

}  // namespace neuroshard::emulation
