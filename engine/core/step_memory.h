#pragma once

#include <cstdint>

#include "engine/core/cluster.h"
#include "engine/core/step_buffers.h"
#include "engine/core/table.h"

namespace neuroshard {

/// What of a training step counts as memory of shards, beside their rows.
struct StepMemory {
  StepBuffers buffers = StepBuffers::kOff;
  std::int64_t batch_size = 0;  ///< global
  std::int32_t devices = 1;     ///< that share it: a replica looks up its own part
};

/// That of plans for the cluster.
StepMemory step_memory(const Workload& workload, const Cluster& cluster);

/// What shards of one table keep in it.
struct TableBuffers {
  double lookup_bytes = 0;  ///< of the lookups of a global batch, for a shard of all rows
  double column_bytes = 0;  ///< outputs of a column for a global batch, where they are kept
  /// How many times lookups are kept, and how many times more where a shard has a cache of rows.
  std::int32_t kept = 0;
  std::int32_t prefetched = 0;
};
TableBuffers table_buffers(const Table& table, const StepMemory& step);

}  // namespace neuroshard
