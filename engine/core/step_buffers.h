#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard {

/// What a training step keeps beside the tables in the memory of their devices, by how a trainer
/// overlaps its steps: named and counted as TorchRec's planner does (PipelineType,
/// calculate_pipeline_io_cost() in shard_estimators.py, 1.4).
enum class StepBuffers {
  kOff,                      ///< not counted
  kTrainBase,                ///< lookups and outputs of a batch
  kTrainSparseDist,          ///< lookups of two batches; outputs come and go before memory is full
  kTrainPrefetchSparseDist,  ///< of three, and of tables with a cache those of seven more
};

/// All of them, in the order of messages and files.
std::span<const StepBuffers> all_step_buffers();

/// The words of the command and the file formats: "off", "train_base", "train_sparse_dist",
/// "train_prefetch_sparse_dist".
std::string_view to_string(StepBuffers buffers);
Result<StepBuffers> parse_step_buffers(std::string_view text);

/// Of one table: what its shards keep beside its rows.
struct TableBuffers {
  double lookup_bytes = 0;  ///< of the lookups of a global batch, for a shard of all rows
  double column_bytes = 0;  ///< outputs of a column for a global batch, where they are kept
  /// How many times lookups are kept, and how many times more where the table has a cache of rows.
  std::int32_t kept = 0;
  std::int32_t prefetched = 0;
  std::int32_t devices = 1;  ///< that share the batch: a replica looks up its own part

  friend bool operator==(const TableBuffers&, const TableBuffers&) = default;
};

/// More than all shards of any plan keep together: sums with other bytes leave room for it.
inline constexpr std::int64_t kBuffersOfAll = std::int64_t{1} << 62;

}  // namespace neuroshard
