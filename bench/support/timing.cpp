#include "bench/support/timing.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace neuroshard::bench {
namespace {

double seconds_on(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void repeat(const Operation& operation, std::int64_t calls) {
  for (std::int64_t k = 0; k < calls; ++k) operation.call();
}

}  // namespace

double thread_seconds() { return seconds_on(CLOCK_THREAD_CPUTIME_ID); }
double wall_seconds() { return seconds_on(CLOCK_MONOTONIC); }

Figure figure_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t last = values.size() - 1;
  return {values[values.size() / 2], values[last / 4], values[last - last / 4]};
}

std::int64_t calls_within(const Operation& operation, double seconds) {
  operation.call();  // caches and scratch memory
  for (std::int64_t calls = 1;; calls *= 2) {
    const double begin = thread_seconds();
    repeat(operation, calls);
    const double took = thread_seconds() - begin;
    if (took < seconds / 8) continue;
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(calls) * seconds / took));
  }
}

double nanoseconds(const Operation& operation, std::int64_t calls) {
  const double begin = thread_seconds();
  repeat(operation, calls);
  const double took = thread_seconds() - begin;
  return 1e9 * took / static_cast<double>(calls * operation.evaluations);
}

double rate_together(const std::vector<Operation>& operations, std::int64_t calls) {
  std::atomic<std::size_t> ready = 0;
  std::atomic<bool> go = false;
  std::vector<std::thread> threads;
  std::int64_t evaluations = 0;
  for (const Operation& operation : operations) {
    evaluations += calls * operation.evaluations;
    threads.emplace_back([&] {
      operation.call();
      ++ready;
      while (!go) std::this_thread::yield();
      repeat(operation, calls);
    });
  }
  while (ready < operations.size()) std::this_thread::yield();
  const double begin = wall_seconds();
  go = true;
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(evaluations) / (wall_seconds() - begin);
}

}  // namespace neuroshard::bench
