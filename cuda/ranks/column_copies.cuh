#pragma once

// What an exchange does beside NCCL: the pieces of the peers lie packed, [samples x width] each,
// and their columns beside each other in `local`, [samples x columns of all]. One launch moves them
// for all peers: a cudaMemcpy2D for each would be as many, of rows of some hundred bytes.

#include <cstdint>
#include <vector>

#include "cuda/lookup/bag_access.h"
#include "cuda/ranks/exchange_plan.h"

namespace neuroshard::cuda {

/// A piece, in accesses of so many floats as the kernel's kWords.
struct ColumnCopy {
  std::int64_t packed_at = 0;
  std::int64_t column = 0;  ///< its first one in local
  std::int64_t width = 0;
};

/// As many as a launch takes; parameters of kernels are at most 4 KiB.
inline constexpr int kMostColumnCopies = 64;
struct ColumnCopies {
  ColumnCopy copies[kMostColumnCopies];
  int count = 0;
  std::int64_t samples = 0;
  std::int64_t columns = 0;  ///< of all: the width of local
};

/// Those of an exchange, launch by launch, where accesses are of kWords floats.
template <int kWords>
std::vector<ColumnCopies> column_copies_of(const ExchangePlan& plan) {
  std::vector<ColumnCopies> launches;
  for (const ExchangePlan::Peer& peer : plan.peers) {
    if (peer.packed == 0) continue;
    if (launches.empty() || launches.back().count == kMostColumnCopies) {
      launches.emplace_back();
      launches.back().samples = plan.samples;
      launches.back().columns = plan.columns / kWords;
    }
    ColumnCopies& last = launches.back();
    last.copies[last.count++] = {peer.packed_at / kWords, peer.column / kWords,
                                 peer.width / kWords};
  }
  return launches;
}

// A warp takes a row of a piece: of one that is narrower than 128 floats, not all lanes are busy.
inline constexpr int kColumnLanes = 32;
inline constexpr int kColumnRows = 8;

/// blockIdx.y is the piece; kToLocal: from the packed pieces, else into them.
template <int kWords, bool kToLocal>
__global__ void column_copies_kernel(ColumnCopies all, float* packed, float* local) {
  const ColumnCopy copy = all.copies[blockIdx.y];
  const std::int64_t step = std::int64_t{gridDim.x} * kColumnRows;
  for (std::int64_t row = std::int64_t{blockIdx.x} * kColumnRows + threadIdx.y; row < all.samples;
       row += step) {
    float* const piece = packed + (copy.packed_at + row * copy.width) * kWords;
    float* const spread = local + (row * all.columns + copy.column) * kWords;
    for (std::int64_t at = threadIdx.x * kWords; at < copy.width * kWords;
         at += kColumnLanes * kWords) {
      if constexpr (kToLocal) {
        store_words<kWords>(spread + at, load_words<kWords>(piece + at));
      } else {
        store_words<kWords>(piece + at, load_words<kWords>(spread + at));
      }
    }
  }
}

}  // namespace neuroshard::cuda
