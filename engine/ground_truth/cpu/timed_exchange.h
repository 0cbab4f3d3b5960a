#pragma once

#include <span>
#include <vector>

#include "engine/ground_truth/cpu/arena.h"
#include "engine/ground_truth/cpu/cache_flush.h"
#include "engine/ground_truth/ground_truth.h"

namespace neuroshard {

struct TimedRuns {
  int warmup = 5;
  int timed = 10;
};

/// Memory that exchanges use: `pooled` holds what ranks send forward and receive backward, `local`
/// the samples they keep. Each needs batch_size x sum of dims floats, 16 more per rank.
struct ExchangeMemory {
  Arena& pooled;
  Arena& local;
};

/// Runs an all-to-all with one thread per rank and takes medians (NeuroShard, comm_bench.py).
/// Forward: rank r sleeps starts_ms[r] after a common start, its time runs from there to the
/// barrier after the exchange. Backward: all start at a barrier, a rank's time ends when it has
/// received its gradients. Caches are flushed before every run by `pool`. Errors: kUnavailable when
/// the machine has too little memory or too few threads left.
Result<CommTime> measure_exchange(std::span<const std::int64_t> dims,
                                  std::span<const double> starts_ms, std::int64_t batch_size,
                                  const TimedRuns& runs, const ExchangeMemory& memory,
                                  CacheFlush& caches, ThreadPool& pool);

/// Median; the mean of the middle two for an even count. REQUIRES values not empty.
double median(std::vector<double> values);

}  // namespace neuroshard
