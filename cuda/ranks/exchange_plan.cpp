#include "cuda/ranks/exchange_plan.h"

#include <algorithm>
#include <string>
#include <utility>

namespace neuroshard::cuda {

std::int64_t first_sample(std::int64_t batch, std::int64_t world, std::int64_t rank) {
  return batch / world * rank + std::min(rank, batch % world);
}

Result<ExchangePlan> plan_exchange(std::span<const std::int64_t> dims, std::int64_t batch,
                                   int rank) {
  const std::int64_t world = std::ssize(dims);
  const bool negative = std::any_of(dims.begin(), dims.end(), [](auto dim) { return dim < 0; });
  if (rank < 0 || rank >= world || batch < 1 || negative) {
    return invalid_input("rank " + std::to_string(rank) + " in an exchange of " +
                         std::to_string(world) + " ranks and " + std::to_string(batch) +
                         " samples, expected a rank below their number, at least 1 sample and dims "
                         "of at least 0");
  }
  ExchangePlan plan;
  plan.samples = first_sample(batch, world, rank + 1) - first_sample(batch, world, rank);
  const std::int64_t own_width = dims[static_cast<std::size_t>(rank)];
  for (std::int64_t r = 0; r < world; ++r) {
    ExchangePlan::Peer peer;
    const std::int64_t first = first_sample(batch, world, r);
    peer.pooled_at = first * own_width;
    peer.pooled = (first_sample(batch, world, r + 1) - first) * own_width;
    peer.column = plan.columns;
    peer.width = dims[static_cast<std::size_t>(r)];
    peer.packed_at = plan.samples * plan.columns;
    peer.packed = plan.samples * peer.width;
    plan.columns += peer.width;
    plan.peers.push_back(peer);
  }
  return Result<ExchangePlan>(std::move(plan));
}

}  // namespace neuroshard::cuda
