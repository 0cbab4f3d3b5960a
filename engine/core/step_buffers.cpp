#include "engine/core/step_buffers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/core/bytes.h"
#include "engine/core/quoted_choices.h"
#include "engine/core/table.h"

namespace neuroshard {
namespace {

constexpr std::array kAll{StepBuffers::kOff, StepBuffers::kTrainBase, StepBuffers::kTrainSparseDist,
                          StepBuffers::kTrainPrefetchSparseDist};

/// FBGEMM turns indices of 32 bits into as many of 64.
constexpr double kIndexBytes = 8;
/// How many times a trainer keeps the lookups of a batch, and its outputs.
struct Kept {
  double lookups = 0;
  double cached_lookups = 0;  ///< more of tables with a cache
  double outputs = 0;
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

double shard_buffers(const Table& table, double rows, double dim, bool cached) {
  const TableBuffers& buffers = table.buffers;
  const double lookups = buffers.lookup_bytes + (cached ? buffers.prefetch_bytes : 0);
  const double outputs = dim * buffers.column_bytes;
  return std::ceil(rows * lookups) + std::ceil(table.pooled ? outputs : rows * outputs);
}

}  // namespace

std::span<const StepBuffers> all_step_buffers() { return kAll; }

std::string_view to_string(StepBuffers buffers) {
  switch (buffers) {
    case StepBuffers::kTrainBase:
      return "train_base";
    case StepBuffers::kTrainSparseDist:
      return "train_sparse_dist";
    case StepBuffers::kTrainPrefetchSparseDist:
      return "train_prefetch_sparse_dist";
    default:
      return "off";
  }
}

Result<StepBuffers> parse_step_buffers(std::string_view text) {
  for (const StepBuffers buffers : kAll) {
    if (text == to_string(buffers)) return buffers;
  }
  return invalid_input("buffers '" + std::string(text) + "', expected " +
                       quoted_choices(all_step_buffers()));
}

std::int64_t buffer_bytes(const Table& table, std::int64_t rows, std::int32_t dim,
                          bool replicated) {
  if (!table.buffers.counted()) return 0;
  const double share = static_cast<double>(rows) / static_cast<double>(table.rows);
  const bool cached = table.kernel.kernel == ComputeKernel::kFusedUvmCaching;
  if (!replicated) return static_cast<std::int64_t>(shard_buffers(table, share, dim, cached));
  Table own = table;
  own.buffers.lookup_bytes /= table.buffers.devices;
  own.buffers.column_bytes /= table.buffers.devices;
  return static_cast<std::int64_t>(shard_buffers(own, share, dim, false));
}

Status count_buffers(StepBuffers buffers, std::int32_t devices, Workload& workload) {
  workload.buffers = buffers;
  const Kept kept = kept_by(buffers);
  const auto batch = static_cast<double>(workload.batch_size);
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    Table& table = workload.tables[index];
    table.buffers = {};
    if (buffers == StepBuffers::kOff) continue;
    const double lookups = batch * table.pooling_factor;
    const double outputs = table.pooled ? batch * table.features : lookups;
    const auto element = static_cast<double>(bytes_per_element(table.data_type));
    table.buffers = {.lookup_bytes = kept.lookups * kIndexBytes * lookups,
                     .prefetch_bytes = kept.cached_lookups * kIndexBytes * lookups,
                     .column_bytes = kept.outputs * element * outputs,
                     .devices = devices};
    if (shard_buffers(table, 1, table.dim, true) <= static_cast<double>(kMostShardBuffers))
      continue;
    return invalid_input("tables[" + std::to_string(index) + "]: buffers '" +
                         std::string(to_string(buffers)) + "' of a batch of " +
                         std::to_string(workload.batch_size) + ", expected at most " +
                         format_bytes(kMostShardBuffers) + " a shard");
  }
  return validate(workload);
}

}  // namespace neuroshard
