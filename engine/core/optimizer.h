#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard {

/// How the backward pass updates the rows that were looked up: what TorchRec fuses into FBGEMM's
/// kernels. Those of this engine know kSgd and kRowwiseAdagrad (has_kernels()); what the others
/// cost has not been measured, what they keep in memory is known.
enum class Optimizer {
  kSgd,
  kRowwiseAdagrad,
  kAdagrad,
  kAdam,
  kPartialRowwiseAdam,
  kLamb,
  kPartialRowwiseLamb,
  kLarsSgd,
};

/// The words of the file formats: "sgd", "rowwise_adagrad", ..
std::string_view to_string(Optimizer optimizer);
/// All of them, as a message lists what it expected: "sgd, rowwise_adagrad, .. or lars_sgd".
std::string optimizer_words();
Result<Optimizer> parse_optimizer(std::string_view text);

/// Whether ground truth can update rows by it.
bool has_kernels(Optimizer optimizer);

/// Bytes of state beside each row of a shard of `dim` columns. States are fp32 whatever the weights
/// are, and numbers kept by row are kept by every shard of the row: each split of columns adds
/// those again (FBGEMM, split_table_batched_embeddings_ops_training.py, momentum1 and momentum2).
std::int64_t state_bytes_per_row(Optimizer optimizer, std::int32_t dim);

}  // namespace neuroshard
