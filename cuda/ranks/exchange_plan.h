#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::cuda {

/// What one rank moves in the all-to-all of pooled embeddings; all numbers count floats. Forward,
/// every peer gets rows of `pooled` and sends a piece that lies packed until its columns are spread
/// over `local`; backward is the same way back.
struct ExchangePlan {
  struct Peer {
    std::int64_t pooled_at = 0;  ///< the peer's samples in our pooled columns
    std::int64_t pooled = 0;
    std::int64_t packed_at = 0;  ///< our samples in the peer's columns, [samples x width]
    std::int64_t packed = 0;
    std::int64_t column = 0;  ///< the peer's first one in local
    std::int64_t width = 0;   ///< the peer's columns
  };
  std::int64_t samples = 0;  ///< ours
  std::int64_t columns = 0;  ///< of all ranks: the width of local
  std::vector<Peer> peers;   ///< by rank, with ourselves
};

/// Rank r holds dims[r] columns and keeps batch / world samples, the first ranks one more.
/// Errors: kInvalidInput unless there is a rank, a sample, and no dim is negative.
Result<ExchangePlan> plan_exchange(std::span<const std::int64_t> dims, std::int64_t batch,
                                   int rank);

/// The first of the samples that `rank` keeps; that of rank `world` is the batch.
std::int64_t first_sample(std::int64_t batch, std::int64_t world, std::int64_t rank);

}  // namespace neuroshard::cuda
