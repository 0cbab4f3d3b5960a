#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cuda/lookup/bag_table.h"
#include "engine/core/status.h"

namespace neuroshard::cuda {

/// Embedding-bag lookup of many tables in one launch, with the exact fused backward: gradients of a
/// row that is looked up several times are summed before its one update. Tables may differ in
/// everything. Sums are fp32; fp16 weights are rounded to nearest when they are updated.
///
/// Deterministic: equal input gives equal bits, run after run. Without sample weights and mean
/// pooling, `forward` and SGD on rows looked up in at most kPieceLookups places even give the CPU's
/// bits (engine/ground_truth/cpu), as they add in the same order.
///
/// Work is given to the default stream: calls return before it is done, errors of the work itself
/// come from cuda::synchronize. Keeps its memory from one `prepare` to the next. Not thread-safe.
class EmbeddingBag {
 public:
  virtual ~EmbeddingBag() = default;

  /// What the next calls work on. Errors: kInvalidInput for sizes the kernels cannot count (rows,
  /// 2^31 lookups, 2^32 bags over all tables); kInternal without memory for the sort.
  virtual Status prepare(std::span<const BagTable> tables, std::int64_t bags,
                         BagHyperparameters hyperparameters) = 0;

  /// Sum of dims: the width of `out` and `gradient`.
  [[nodiscard]] virtual std::int64_t columns() const = 0;
  /// out, [bags x columns()] row-major: pooled rows, the tables side by side in their order. An
  /// empty bag gives zeros. REQUIRES out aligned to 16 bytes.
  virtual Status forward(float* out) = 0;
  /// gradient, as `out`: updates weights and states of the rows that were looked up. Sample weights
  /// are constants to it.
  virtual Status backward(const float* gradient) = 0;
  /// The first part of `backward`, which needs no gradient: lookups sorted by row and cut into
  /// pieces. On its own only for measuring.
  virtual Status sort_lookups() = 0;
};

/// Errors: as device_available.
Result<std::unique_ptr<EmbeddingBag>> make_embedding_bag();

}  // namespace neuroshard::cuda
