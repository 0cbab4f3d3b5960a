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

}  // namespace neuroshard
