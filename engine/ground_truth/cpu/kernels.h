#pragma once

#include <cstdint>
#include <string_view>

namespace neuroshard {

/// Bags [begin, end) of one shard: out[b] = sum of the shard's rows its indices name, 0 for an
/// empty bag. Rows are `dim` floats one after the other.
struct BagBlock {
  const float* weights;
  std::int64_t dim;
  const std::int64_t* indices;
  const std::int64_t* offsets;  ///< of bag 0
  std::int64_t lookups;         ///< of all bags: prefetching ends there
  std::int64_t begin;
  std::int64_t end;
  float* out;  ///< of bag 0
  std::int64_t out_stride;
};

/// Lookups of some rows of one shard in ascending order of (row, bag), each packed as
/// row << bag_bits | bag. Lookups of a row are never divided between two blocks.
struct RunBlock {
  const std::uint64_t* pairs;
  std::int64_t count;
  int bag_bits;
  const float* gradient;  ///< of bag 0
  std::int64_t gradient_stride;
  float* weights;
  float* state;  ///< one per row for row-wise Adagrad, null for SGD
  std::int64_t dim;
  float learning_rate;
  float epsilon;
  float* scratch;  ///< dim floats, aligned to 64 bytes
};

/// The inner loops of the lookup for one instruction set. Stateless; thread-safe for blocks that
/// write to different memory.
///
/// Sums run over the lookups in the order given, one column independent of the others, so columns
/// split over shards give the same bits as together, on every instruction set.
struct LookupKernels {
  /// Sum pooling of a block of bags.
  void (*pool_bags)(const BagBlock& block);
  /// Per distinct row: g = sum of its lookups' gradients, then one update.
  ///   SGD                 w -= lr g
  ///   row-wise Adagrad    m += sum(g^2) / dim;  w -= lr g / (sqrt(m) + eps)
  void (*update_rows)(const RunBlock& block);
};

/// Lookups of one row of `dim` floats that are fetched ahead of their use: enough to cover the
/// memory latency, bounded for wide rows by the cache lines a core can wait for.
/// Tuned with bench/embedding_bench.
constexpr std::int64_t prefetch_distance(std::int64_t dim) {
  return dim >= 128 ? 8 : dim >= 32 ? 16 : 32;
}

}  // namespace neuroshard
