#include "engine/core/step_memory.h"

namespace neuroshard {
namespace {

/// FBGEMM turns indices of 32 bits into as many of 64.
constexpr double kIndexBytes = 8;

/// How many times a trainer keeps the lookups of a batch, and its outputs.
struct Kept {
  std::int32_t lookups = 0;
  std::int32_t cached_lookups = 0;  ///< more of shards with a cache
  std::int32_t outputs = 0;
};

Kept kept_by(StepBuffers buffers) {
  switch (buffers) {
    case StepBuffers::kTrainBase:
      return {1, 0, 1};
    case StepBuffers::kTrainSparseDist:
      return {2, 0, 0};
    case StepBuffers::kTrainPrefetchSparseDist:
      return {3, 7, 0};
    default:
      return {};
  }
}

}  // namespace

StepMemory step_memory(const Workload& workload, const Cluster& cluster) {
  return {cluster.buffers, workload.batch_size, cluster.devices};
}

TableBuffers table_buffers(const Table& table, const StepMemory& step) {
  const Kept kept = kept_by(step.buffers);
  if (kept.lookups == 0) return {};
  const auto batch_size = static_cast<double>(step.batch_size);
  const double lookups = batch_size * table.pooling_factor;
  const double outputs = table.pooled ? batch_size * table.features : lookups;
  const auto element = static_cast<double>(bytes_as_planned(table.data_type));
  return {.lookup_bytes = kIndexBytes * lookups,
          .column_bytes = kept.outputs * element * outputs,
          .kept = kept.lookups,
          .prefetched = kept.cached_lookups};
}

}  // namespace neuroshard
