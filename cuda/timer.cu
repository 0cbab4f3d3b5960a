#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda/check.h"
#include "cuda/device.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/timer.h"

namespace neuroshard::cuda {
namespace {

constexpr std::size_t kLeastFlushBytes = std::size_t{128} << 20;

/// The GPU waits this long before each run: launching the longest one, about 20 kernels, takes the
/// CPU less, so that no gap between kernels is its fault.
constexpr std::chrono::microseconds kHeadStart{200};

/// Reads all of the buffer. What a write left in the L2 would have to leave it during the timed
/// run; what was read is dropped. The store never happens: the buffer holds zeros.
__global__ void read_kernel(const uint4* __restrict__ buffer, std::size_t count, unsigned* sink) {
  unsigned bits = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint4 values = buffer[i];
    bits |= values.x | values.y | values.z | values.w;
  }
  if (bits != 0) *sink = bits;
}

__device__ std::uint64_t global_timer() {
#if defined(NEUROSHARD_EMULATED_GPU)
  return emulation::nanoseconds();
#else
  std::uint64_t time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
#endif
}

__global__ void delay_kernel(std::uint64_t nanoseconds) {
  const std::uint64_t start = global_timer();
  while (global_timer() - start < nanoseconds) __nanosleep(100);
}

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
                                                int warmup, int timed,
                                                const Surroundings& surroundings) override {
    const std::size_t marks = steps.size() + 1;
    NEUROSHARD_RETURN_IF_ERROR(events_.reserve(marks * static_cast<std::size_t>(timed)));
    for (int run = -warmup; run < timed; ++run) {
      NEUROSHARD_RETURN_IF_ERROR(flush());
      NEUROSHARD_RETURN_IF_ERROR(delay(kHeadStart));
      if (surroundings.before) NEUROSHARD_RETURN_IF_ERROR(surroundings.before());
      const std::size_t first = static_cast<std::size_t>(std::max(run, 0)) * marks;
      if (run >= 0) NEUROSHARD_RETURN_IF_ERROR(events_.record(first));
      for (std::size_t step = 0; step < steps.size(); ++step) {
        NEUROSHARD_RETURN_IF_ERROR(steps[step]());
        if (run >= 0) NEUROSHARD_RETURN_IF_ERROR(events_.record(first + step + 1));
      }
    }
    if (surroundings.at_end) NEUROSHARD_RETURN_IF_ERROR(surroundings.at_end());
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
  Status flush() {
    constexpr int kBlocks = 2048;
    constexpr int kThreads = 256;
    return launch({kBlocks, kThreads}, read_kernel, reinterpret_cast<const uint4*>(flush_.data()),
                  flush_.capacity() / sizeof(uint4), reinterpret_cast<unsigned*>(flush_.data()));
  }

  Buffer<std::byte> flush_;  ///< zeros
  Events events_;
};

}  // namespace

Status delay(std::chrono::nanoseconds time) {
  if (time.count() <= 0) return {};
  return launch({1, 1}, delay_kernel, static_cast<std::uint64_t>(time.count()));
}

Result<std::unique_ptr<Timer>> make_timer() {
  NEUROSHARD_ASSIGN_OR_RETURN(const DeviceInfo info, device_info());
  Buffer<std::byte> flush;
  NEUROSHARD_RETURN_IF_ERROR(
      flush.reserve(std::max(kLeastFlushBytes, 2 * static_cast<std::size_t>(info.cache_bytes))));
  NEUROSHARD_RETURN_IF_ERROR(flush.zero(flush.capacity()));
  return std::unique_ptr<Timer>(std::make_unique<EventTimer>(std::move(flush)));
}

}  // namespace neuroshard::cuda
