#include "engine/ground_truth/cpu/timed_exchange.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "engine/ground_truth/cpu/all_to_all.h"
#include "engine/ground_truth/cpu/rank_threads.h"
#include "engine/ground_truth/requests/request.h"

namespace neuroshard {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

/// What all ranks share while they run.
struct Session {
  AllToAll& exchange;
  std::span<const double> starts_ms;
  CacheFlush& caches;
  ThreadPool& pool;
  RankBarrier barrier;
  Clock::time_point common_start;
};

struct RankTimes {
  std::vector<double> forward;
  std::vector<double> backward;
};

/// One forward and one backward exchange of rank `rank`; times are kept when `keep`.
void run_once(Session& session, int rank, bool keep, RankTimes& times) {
  if (rank == 0) session.caches.flush(session.pool);
  session.barrier.wait();
  if (rank == 0) session.common_start = Clock::now();
  session.barrier.wait();
  const Milliseconds delay(session.starts_ms[static_cast<std::size_t>(rank)]);
  std::this_thread::sleep_until(session.common_start +
                                std::chrono::duration_cast<Clock::duration>(delay));
  const Clock::time_point forward_start = Clock::now();
  session.exchange.forward(rank);
  // A plan's forward cost has the wait for the slowest device in it.
  session.barrier.wait();
  const Clock::time_point forward_end = Clock::now();

  if (rank == 0) session.caches.flush(session.pool);
  session.barrier.wait();
  const Clock::time_point backward_start = Clock::now();
  session.exchange.backward(rank);
  const Clock::time_point backward_end = Clock::now();
  if (!keep) return;
  times.forward.push_back(Milliseconds(forward_end - forward_start).count());
  times.backward.push_back(Milliseconds(backward_end - backward_start).count());
}

/// The buffers of every rank, one after the other in the two arenas.
Result<std::vector<AllToAll::Buffers>> carve(std::span<const std::int64_t> dims,
                                             std::int64_t batch_size, const ExchangeMemory& memory,
                                             ThreadPool& pool) {
  const std::int64_t width = std::accumulate(dims.begin(), dims.end(), std::int64_t{0});
  const auto ranks = static_cast<std::int64_t>(dims.size());
  std::int64_t pooled_floats = 0;
  std::int64_t local_floats = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    places.emplace_back(pooled_floats, local_floats);
    pooled_floats += whole_lines(batch_size * dims[static_cast<std::size_t>(rank)]);
    local_floats += whole_lines(samples_of_device(batch_size, ranks, rank) * width);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(float* pooled,
                              memory.pooled.take(pooled_floats, "exchanges", pool, true));
  NEUROSHARD_ASSIGN_OR_RETURN(float* local, memory.local.take(local_floats, "exchanges", pool));
  std::vector<AllToAll::Buffers> buffers;
  for (const auto& [pooled_at, local_at] : places) {
    buffers.push_back({pooled + pooled_at, local + local_at});
  }
  return buffers;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Result<CommTime> measure_exchange(std::span<const std::int64_t> dims,
                                  std::span<const double> starts_ms, std::int64_t batch_size,
                                  const TimedRuns& runs, const ExchangeMemory& memory,
                                  CacheFlush& caches, ThreadPool& pool) {
  NEUROSHARD_ASSIGN_OR_RETURN(std::vector<AllToAll::Buffers> buffers,
                              carve(dims, batch_size, memory, pool));
  AllToAll exchange(dims, batch_size, std::move(buffers));
  const int ranks = exchange.ranks();
  Session session{exchange, starts_ms, caches, pool, RankBarrier(ranks), {}};
  std::vector<RankTimes> times(static_cast<std::size_t>(ranks));
  const auto work = [&](int rank) {
    for (int run = 0; run < runs.warmup + runs.timed; ++run) {
      run_once(session, rank, run >= runs.warmup, times[static_cast<std::size_t>(rank)]);
    }
  };
  NEUROSHARD_RETURN_IF_ERROR(run_ranks(ranks, work));

  CommTime result;
  for (RankTimes& rank : times) {
    result.forward_ms.push_back(median(std::move(rank.forward)));
    result.backward_ms.push_back(median(std::move(rank.backward)));
  }
  return result;
}

}  // namespace neuroshard
