#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace neuroshard::bench {

/// Seconds this thread computed: a busy machine makes it slower, but not by the time it waits.
double thread_seconds();
/// Seconds on the wall.
double wall_seconds();

/// What several rounds of a measurement gave.
struct Figure {
  double median = 0;
  double low = 0;   ///< a quarter of the rounds are below
  double high = 0;  ///< a quarter are above
};
/// REQUIRES values not empty.
Figure figure_of(std::vector<double> values);

/// Something to time: `call` does `evaluations` of it.
struct Operation {
  std::int64_t evaluations = 1;
  std::function<void()> call;
};

/// Calls that take about `seconds` of this thread, at least one.
std::int64_t calls_within(const Operation& operation, double seconds);
/// Nanoseconds of this thread an evaluation, over `calls` calls.
double nanoseconds(const Operation& operation, std::int64_t calls);
/// Evaluations a second of all operations at once, a thread each, on the wall.
double rate_together(const std::vector<Operation>& operations, std::int64_t calls);

/// Keeps a result alive that nobody reads.
inline void keep(const void* result) { asm volatile("" : : "g"(result) : "memory"); }

}  // namespace neuroshard::bench
