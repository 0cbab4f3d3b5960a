#include "engine/core/check_step_memory.h"

#include <algorithm>
#include <string>

#include "engine/core/offload.h"

namespace neuroshard {
namespace {

/// More shards than a file of 2 GiB can hold.
constexpr double kMostShards = 1 << 26;
/// More than all shards of any plan keep together: sums with other bytes leave room for it.
constexpr std::int64_t kBuffersOfAll = std::int64_t{1} << 62;

/// The most that a table's shards keep together, however it is cut by columns, without the outputs
/// of shards that have some of its rows.
double most_lookups(const Table& table, const TableBuffers& own) {
  const double lookups = (own.kept + own.prefetched) * (own.lookup_bytes + 1);
  return table.dim * (lookups + (table.pooled ? 0 : own.column_bytes));
}

/// The outputs of a shard, of however few rows, and what is rounded up.
double most_outputs(const Table& table, const TableBuffers& own) {
  return own.kept + own.prefetched + 1 + (table.pooled ? table.dim * own.column_bytes : 0);
}

}  // namespace

Status check_step_memory(const Workload& workload, const StepMemory& step) {
  if (step.buffers == StepBuffers::kOff) return {};
  double lookups = 0;
  double outputs = 0;
  std::int64_t total = kBuffersOfAll;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const Table& table = workload.tables[index];
    const TableBuffers own = table_buffers(table, step);
    lookups += most_lookups(table, own);
    outputs = std::max(outputs, most_outputs(table, own));
    if (!(lookups + kMostShards * outputs < static_cast<double>(kBuffersOfAll))) {
      return invalid_input("tables[" + std::to_string(index) + "]: buffers '" +
                           std::string(to_string(step.buffers)) + "' of a batch of " +
                           std::to_string(step.batch_size) +
                           " may come to 2^62 bytes in all shards of a plan, expected less");
    }
    if (__builtin_add_overflow(total, most_bytes(table), &total)) {
      return invalid_input("tables[0.." + std::to_string(index) +
                           "] together, expected below 2^63 bytes");
    }
  }
  return check_offloaded_bytes(workload, kBuffersOfAll);
}

}  // namespace neuroshard
