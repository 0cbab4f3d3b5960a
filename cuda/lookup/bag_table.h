#pragma once

#include <cstdint>

#include "engine/core/table.h"

namespace neuroshard::cuda {

enum class Pooling { kSum, kMean };

/// One table of a fused lookup and its part of the batch. All pointers are device memory that
/// belongs to the caller and outlives the lookup; `weights` is aligned to 16 bytes.
struct BagTable {
  void* weights = nullptr;  ///< rows x dim of data_type, row-major without padding
  float* state = nullptr;   ///< rows values; row-wise Adagrad only
  std::int64_t rows = 0;    ///< below 2^31; may be 0 when there are no lookups
  std::int64_t dim = 0;
  DataType data_type = DataType::kFp32;
  Optimizer optimizer = Optimizer::kSgd;
  Pooling pooling = Pooling::kSum;
  /// Bag b reads rows indices[offsets[b]..offsets[b + 1]); every index in [0, rows).
  const std::int32_t* indices = nullptr;
  const std::int64_t* offsets = nullptr;  ///< bags + 1 values, from 0 to lookups
  std::int64_t lookups = 0;
  const float* sample_weights = nullptr;  ///< one factor per lookup; null: 1
};

/// Learning rate and epsilon of the update; FBGEMM's bench defaults.
struct BagHyperparameters {
  float learning_rate = 0.1F;
  float epsilon = 0.1F;
};

}  // namespace neuroshard::cuda
