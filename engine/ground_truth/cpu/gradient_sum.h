#pragma once

#include <cstdint>
#include <vector>

#include "engine/ground_truth/cpu/all_to_all.h"

namespace neuroshard {

/// The all-reduce of gradients between ranks that are threads of this process: each adds up its
/// part of the values, in the order of the ranks, then gets the parts of the others. So all have
/// the same bits. What a rank reads of other ranks' memory is what would be on a wire, and is
/// counted. Each rank's calls come from its own thread.
class GradientSum {
 public:
  /// `buffers`: of each rank, `values` floats. `barrier`: of as many ranks; it outlives this.
  GradientSum(std::int64_t values, std::vector<float*> buffers, RankBarrier& barrier);

  /// All ranks call it; when one returns, its buffer has the sums. A barrier belongs between this
  /// and whatever overwrites them.
  void run(int rank);

  /// Bytes that the rank has received of others, in all sums so far.
  [[nodiscard]] std::int64_t received_bytes(int rank) const {
    return received_[static_cast<std::size_t>(rank)];
  }

 private:
  std::vector<std::int64_t> first_value_;
  std::vector<float*> buffers_;
  RankBarrier& barrier_;
  std::vector<std::int64_t> received_;
};

}  // namespace neuroshard
