#include "engine/core/count_buffers.h"

#include <algorithm>
#include <string>

#include "engine/core/offload.h"

namespace neuroshard {
namespace {

/// FBGEMM turns indices of 32 bits into as many of 64.
constexpr double kIndexBytes = 8;
/// More shards than a file of 2 GiB can hold.
constexpr double kMostShards = 1 << 26;

/// How many times a trainer keeps the lookups of a batch, and its outputs.
struct Kept {
  std::int32_t lookups = 0;
  std::int32_t cached_lookups = 0;  ///< more of tables with a cache
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

TableBuffers buffers_of(const Table& table, std::int64_t batch_size, const Kept& kept,
                        std::int32_t devices) {
  const double lookups = static_cast<double>(batch_size) * table.pooling_factor;
  const double outputs = table.pooled ? static_cast<double>(batch_size) * table.features : lookups;
  const auto element = static_cast<double>(bytes_per_element(table.data_type));
  return {.lookup_bytes = kIndexBytes * lookups,
          .column_bytes = kept.outputs * element * outputs,
          .kept = kept.lookups,
          .prefetched = kept.cached_lookups,
          .devices = devices};
}

/// The most that a table's shards keep together, however it is cut by columns, without the outputs
/// of shards that have some of its rows.
double most_lookups(const Table& table) {
  const TableBuffers& own = table.buffers;
  const double lookups = (own.kept + own.prefetched) * (own.lookup_bytes + 1);
  return table.dim * (lookups + (table.pooled ? 0 : own.column_bytes));
}

/// The outputs of a shard, of however few rows, and what is rounded up.
double most_outputs(const Table& table) {
  const TableBuffers& own = table.buffers;
  return own.kept + own.prefetched + 1 + (table.pooled ? table.dim * own.column_bytes : 0);
}

}  // namespace

Status count_buffers(StepBuffers buffers, std::int32_t devices, Workload& workload) {
  workload.buffers = buffers;
  const Kept kept = kept_by(buffers);
  double lookups = 0;
  double outputs = 0;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    Table& table = workload.tables[index];
    table.buffers = {};
    if (buffers == StepBuffers::kOff) continue;
    table.buffers = buffers_of(table, workload.batch_size, kept, devices);
    lookups += most_lookups(table);
    outputs = std::max(outputs, most_outputs(table));
    if (lookups + kMostShards * outputs < static_cast<double>(kBuffersOfAll)) continue;
    return invalid_input("tables[" + std::to_string(index) + "]: buffers '" +
                         std::string(to_string(buffers)) + "' of a batch of " +
                         std::to_string(workload.batch_size) +
                         " may come to 2^62 bytes in all shards of a plan, expected less");
  }
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  // Plans may have been validated before buffers count.
  return buffers == StepBuffers::kOff ? Status() : check_offloaded_bytes(workload);
}

}  // namespace neuroshard
