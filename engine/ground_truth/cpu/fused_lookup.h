#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/core/table.h"
#include "engine/core/thread_pool.h"
#include "engine/ground_truth/cpu/index_stream.h"
#include "engine/ground_truth/cpu/kernels.h"
#include "engine/ground_truth/cpu/row_sort.h"

namespace neuroshard {

/// One shard of a fused lookup: `rows` x `dim` weights and the batch's lookups into them.
struct LookupShard {
  const IndexStream* stream = nullptr;
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  float* weights = nullptr;
  float* state = nullptr;  ///< `rows` values; row-wise Adagrad only
  Optimizer optimizer = Optimizer::kSgd;
};

/// Learning rate and epsilon of the update; FBGEMM's bench defaults.
struct LookupHyperparameters {
  float learning_rate = 0.1F;
  float epsilon = 0.1F;
};

/// Embedding-bag lookup of several shards in one call, sum pooling, fp32, with the exact backward:
/// gradients of a row that occurs several times are summed before its one update. Work is divided
/// into (shard, block of samples) forward and (shard, bucket of rows) backward; results are the
/// same bits for any number of threads. Weights and streams belong to the caller and must outlive
/// it.
class FusedLookup {
 public:
  /// REQUIRES every stream of `bags` bags with indices inside its rows, RowSort::packs(rows, bags).
  FusedLookup(std::vector<LookupShard> shards, std::int64_t bags, const LookupKernels& kernels,
              LookupHyperparameters hyperparameters = {});

  /// Sum of dims: the width of `out` and `gradient`.
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  /// First column of a shard; shards lie side by side in their order.
  [[nodiscard]] std::int64_t first_column(std::size_t shard) const { return first_column_[shard]; }

  /// out, [bags x columns()] row-major: the pooled rows. An empty bag gives zeros.
  void forward(ThreadPool& pool, float* out) const;
  /// gradient, as `out`: updates weights (and states) of the rows that were looked up.
  void backward(ThreadPool& pool, const float* gradient);

 private:
  std::vector<LookupShard> shards_;
  std::vector<std::int64_t> first_column_;
  std::int64_t bags_;
  std::int64_t columns_ = 0;
  std::int64_t widest_ = 0;
  const LookupKernels& kernels_;
  LookupHyperparameters hyperparameters_;
  RowSort sort_;
  AlignedVector<float> scratch_;  ///< `widest_`, rounded up to cache lines, per thread
};

}  // namespace neuroshard
