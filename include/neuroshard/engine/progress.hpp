// Part of neuroshard/engine.hpp: how far a search is, and ending it from another thread.
#ifndef NEUROSHARD_ENGINE_PROGRESS_HPP_
#define NEUROSHARD_ENGINE_PROGRESS_HPP_

#include <neuroshard/engine/base.hpp>
#include <neuroshard/engine/progress.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace neuroshard {
inline namespace api {

/// Ends searches from another thread; see neuroshard_cancel().
class Cancellation {
 public:
  explicit Cancellation(neuroshard_cancellation* owned) : handle_(owned) {}
  static Result<Cancellation> create() {
    return detail::made<Cancellation, neuroshard_cancellation>(neuroshard_cancellation_create);
  }
  void cancel() const { neuroshard_cancel(get()); }
  [[nodiscard]] bool cancelled() const { return neuroshard_cancelled(get()) != 0; }
  void reset() { neuroshard_cancellation_reset(get()); }
  [[nodiscard]] neuroshard_cancellation* get() const { return handle_.get(); }

 private:
  detail::Handle<neuroshard_cancellation, neuroshard_cancellation_destroy> handle_;
};

/// Is told phase, done, total and unit; see neuroshard_progress_fn. Must not throw.
using Progress =
    std::function<void(std::string_view, std::int64_t, std::int64_t, std::string_view)>;

namespace detail {

/// REQUIRES a Progress behind `progress`.
inline void hand_on(void* progress, neuroshard_text phase, std::int64_t done, std::int64_t total,
                    neuroshard_text unit) {
  (*static_cast<const Progress*>(progress))(view(phase), done, total, view(unit));
}

}  // namespace detail

}  // namespace api
}  // namespace neuroshard

#endif
