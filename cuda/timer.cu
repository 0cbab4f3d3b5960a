#include <algorithm>
#include <cstddef>

#include "cuda/check.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/timer.h"

namespace neuroshard::cuda {
namespace {

constexpr std::size_t kLeastFlushBytes = std::size_t{128} << 20;

class Events {
 public:
  Events() = default;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  Status reserve(std::size_t count) {
    while (events_.size() < count) {
      cudaEvent_t event = nullptr;
      NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaEventCreate(&event));
      events_.push_back(event);
    }
    return {};
  }
  Status record(std::size_t k) {
    NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaEventRecord(events_[k]));
    return {};
  }
  Result<double> milliseconds(std::size_t from, std::size_t to) const {
    float ms = 0;
    NEUROSHARD_CUDA_RETURN_IF_ERROR(cudaEventElapsedTime(&ms, events_[from], events_[to]));
    return double{ms};
  }

 private:
  std::vector<cudaEvent_t> events_;
};

class EventTimer final : public Timer {
 public:
  explicit EventTimer(Buffer<std::byte> flush) : flush_(std::move(flush)) {}

  Result<std::vector<std::vector<double>>> time(const std::vector<std::function<Status()>>& steps,
                                                int warmup, int timed) override {
    const std::size_t marks = steps.size() + 1;
    NEUROSHARD_RETURN_IF_ERROR(events_.reserve(marks * static_cast<std::size_t>(timed)));
    for (int run = -warmup; run < timed; ++run) {
      NEUROSHARD_RETURN_IF_ERROR(flush_.zero(flush_.capacity()));
      const std::size_t first = static_cast<std::size_t>(std::max(run, 0)) * marks;
      if (run >= 0) NEUROSHARD_RETURN_IF_ERROR(events_.record(first));
      for (std::size_t step = 0; step < steps.size(); ++step) {
        NEUROSHARD_RETURN_IF_ERROR(steps[step]());
        if (run >= 0) NEUROSHARD_RETURN_IF_ERROR(events_.record(first + step + 1));
      }
    }
    NEUROSHARD_RETURN_IF_ERROR(synchronize());
    std::vector<std::vector<double>> times(marks);
    for (int run = 0; run < timed; ++run) {
      const std::size_t first = static_cast<std::size_t>(run) * marks;
      for (std::size_t step = 0; step < marks; ++step) {
        const bool all = step == steps.size();
        const std::size_t to = all ? first + steps.size() : first + step + 1;
        NEUROSHARD_ASSIGN_OR_RETURN(const double ms,
                                    events_.milliseconds(all ? first : to - 1, to));
        times[step].push_back(ms);
      }
    }
    return times;
  }

 private:
  Buffer<std::byte> flush_;
  Events events_;
};

}  // namespace

Result<std::unique_ptr<Timer>> make_timer() {
  NEUROSHARD_ASSIGN_OR_RETURN(const DeviceInfo info, device_info());
  Buffer<std::byte> flush;
  NEUROSHARD_RETURN_IF_ERROR(
      flush.reserve(std::max(kLeastFlushBytes, 2 * static_cast<std::size_t>(info.cache_bytes))));
  return std::unique_ptr<Timer>(std::make_unique<EventTimer>(std::move(flush)));
}

}  // namespace neuroshard::cuda
