#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard {

/// Runs `work(rank)` of every rank at the same time, that of rank 0 on this thread; none of them
/// unless the system has a thread for each, as they wait for each other. Error: kUnavailable.
template <typename Work>
Status run_ranks(int ranks, const Work& work) {
  enum Gate { kClosed, kOpen, kCalledOff };
  std::atomic<Gate> gate{kClosed};
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  try {
    for (int rank = 1; rank < ranks; ++rank) {
      threads.emplace_back([&gate, &work, rank] {
        gate.wait(kClosed);
        if (gate == kOpen) work(rank);
      });
    }
  } catch (const std::exception&) {  // no more threads, or no memory for them
  }
  const int found = static_cast<int>(threads.size()) + 1;
  gate = found == ranks ? kOpen : kCalledOff;
  gate.notify_all();
  if (found == ranks) work(0);
  for (std::thread& thread : threads) thread.join();
  if (found == ranks) return {};
  return unavailable("backend cpu: an all-to-all of " + std::to_string(ranks) +
                     " ranks needs a thread each, this machine gives " + std::to_string(found));
}

}  // namespace neuroshard
