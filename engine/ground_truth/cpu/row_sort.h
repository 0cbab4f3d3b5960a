#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/thread_pool.h"
#include "engine/ground_truth/cpu/index_stream.h"

namespace neuroshard {

/// Sorts the lookups of several shards by row, for the exact backward: afterwards all lookups of a
/// row lie side by side, in the order of their bags. A stable radix sort: lookups are first dealt
/// into buckets by the high bits of the row, then every bucket is sorted by the rest, so buckets
/// are independent pieces of work. The result does not depend on the number of threads. Keeps its
/// memory between calls. Use from one thread at a time.
class RowSort {
 public:
  struct Input {
    const IndexStream* stream;
    std::int64_t rows;
  };
  /// Lookups [begin, end) of pairs() hold whole rows of one shard.
  struct Bucket {
    std::int32_t shard;
    std::int64_t begin;
    std::int64_t end;
  };

  /// REQUIRES every stream of the same number of bags, packs(rows, bags) for each, below 2^32
  /// lookups in each.
  void sort(const std::vector<Input>& inputs, ThreadPool& pool);

  /// Non-empty buckets of the last sort, by shard and row; each sorted by row and bag.
  [[nodiscard]] const std::vector<Bucket>& buckets() const { return buckets_; }
  /// row << bag_bits | bag for each lookup.
  [[nodiscard]] const std::uint64_t* pairs() const { return pairs_.data(); }
  [[nodiscard]] int bag_bits() const { return bag_bits_; }

  /// Whether row and bag fit into one 64-bit word.
  static bool packs(std::int64_t rows, std::int64_t bags);

 private:
  struct Layout;
  struct Chunk;
  struct Work;
  Work lay_out(const std::vector<Input>& inputs);
  void count(const Work& work, ThreadPool& pool);
  void place(const Work& work);
  void deal(const Work& work, ThreadPool& pool);
  void sort_bucket(const Bucket& bucket, int low_bits);

  std::vector<std::uint64_t> pairs_;
  std::vector<std::uint64_t> spare_;
  std::vector<std::int64_t> counts_;
  std::vector<Bucket> buckets_;
  std::vector<int> bucket_bits_;  ///< per bucket: low bits of the row left to sort
  int bag_bits_ = 0;
};

}  // namespace neuroshard
