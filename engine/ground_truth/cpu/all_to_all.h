#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace neuroshard {

/// Ranks that are threads of this process meet here. Reusable.
class RankBarrier {
 public:
  explicit RankBarrier(int ranks) : ranks_(ranks) {}
  /// Returns when all ranks have called it.
  void wait();

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int ranks_;
  int here_ = 0;
  std::int64_t generation_ = 0;
};

/// The all-to-all of pooled embeddings between ranks that are threads of this process and share its
/// memory. Rank r holds dims[r] columns for the whole batch (`pooled`, [batch x dims[r]]) and keeps
/// a contiguous part of the samples with all columns (`local`, [samples of r x sum of dims], the
/// columns of rank 0 first). A rank copies what it receives, peer after peer beginning with itself,
/// and waits for a peer that has not entered the exchange yet. Each rank's calls come from its own
/// thread; a barrier belongs between an exchange and whatever overwrites what it sends.
class AllToAll {
 public:
  /// The memory of one rank, owned by the caller.
  struct Buffers {
    float* pooled = nullptr;
    float* local = nullptr;
  };

  /// REQUIRES dims not empty, values >= 0, batch_size >= 0, one Buffers per rank.
  AllToAll(std::span<const std::int64_t> dims, std::int64_t batch_size,
           std::vector<Buffers> buffers);

  [[nodiscard]] int ranks() const { return static_cast<int>(dims_.size()); }
  [[nodiscard]] std::int64_t columns() const { return first_column_.back(); }
  /// Samples [first_sample(r), first_sample(r + 1)) are rank r's.
  [[nodiscard]] std::int64_t first_sample(int rank) const {
    return first_sample_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::int64_t first_column(int rank) const {
    return first_column_[static_cast<std::size_t>(rank)];
  }

  /// pooled of every rank -> local of `rank`. Returns when `rank` has received everything.
  void forward(int rank);
  /// local of every rank -> pooled of `rank` (gradients on their way back). As forward.
  void backward(int rank);

 private:
  std::int64_t post(int rank);
  void wait_for(int rank, std::int64_t round);
  void receive_forward(int rank, int from);
  void receive_backward(int rank, int from);

  std::vector<std::int64_t> dims_;
  std::vector<std::int64_t> first_column_;
  std::vector<std::int64_t> first_sample_;
  std::vector<Buffers> buffers_;
  std::mutex mutex_;
  std::condition_variable posted_;
  std::vector<std::int64_t> rounds_;  ///< exchanges each rank has entered, guarded by mutex_
};

}  // namespace neuroshard
