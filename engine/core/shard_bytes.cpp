#include "engine/core/shard_bytes.h"

#include <algorithm>
#include <cmath>

#include "engine/core/bytes.h"

namespace neuroshard {
namespace {

/// Bytes that an optimizer keeps for a row, whatever columns there are.
std::int64_t row_states(const Table& table) { return state_bytes_per_row(table.optimizer, 0); }

/// FBGEMM's caches: for each row its place among all tables' rows, for each cached row which row it
/// is and when it was used last.
constexpr std::int64_t kCacheBytesPerRow = 4;
constexpr std::int64_t kCacheBytesPerCachedRow = 16;

/// Without buffers.
std::int64_t rows_on_device(const Table& table, const ShardShape& shape) {
  const TableKernel& kernel = shape.kernel;
  if (!kernel.offloaded()) return shape.rows * row_bytes(table, shape.dim);
  const std::int64_t states = shape.rows * row_states(table);
  if (kernel.kernel == ComputeKernel::kFusedUvm) return states;
  // 7 % of 100 rows are 7, though 0.07 is a little more as a double.
  constexpr double kExact = 1 - 4e-16;
  const auto cached = static_cast<std::int64_t>(
      std::ceil(kExact * kernel.load_factor * static_cast<double>(shape.rows)));
  return states + shape.rows * kCacheBytesPerRow + cached * cached_row_bytes(table, shape.dim);
}

}  // namespace

std::int64_t buffer_bytes(const Table& table, const ShardShape& shape, const StepMemory& step) {
  const TableBuffers own = table_buffers(table, step);
  if (own.kept == 0) return 0;
  const double batch = shape.replicated ? step.devices : 1;
  // Multiplied first: a quotient may be rounded up where the share is a whole number.
  const auto of_rows = [&](double bytes) {
    return bytes * static_cast<double>(shape.rows) / (static_cast<double>(table.rows) * batch);
  };
  const double outputs = shape.dim * own.column_bytes;
  const bool cached = shape.kernel.kernel == ComputeKernel::kFusedUvmCaching;
  const std::int64_t times = own.kept + (cached ? own.prefetched : 0);
  return times * static_cast<std::int64_t>(std::ceil(of_rows(own.lookup_bytes))) +
         static_cast<std::int64_t>(std::ceil(table.pooled ? outputs / batch : of_rows(outputs)));
}

std::int64_t bytes_on_device(const Table& table, const ShardShape& shape, const StepMemory& step) {
  return rows_on_device(table, shape) + buffer_bytes(table, shape, step);
}

std::int64_t cached_row_bytes(const Table& table, std::int32_t dim) {
  return weight_bytes(table.data_type, dim) + kCacheBytesPerCachedRow;
}

std::int64_t bytes_on_host(const Table& table, const ShardShape& shape) {
  if (!shape.kernel.offloaded()) return 0;
  return shape.rows * (row_bytes(table, shape.dim) - row_states(table));
}

std::int64_t shard_bytes(const Workload& workload, const ShardShape& shape,
                         const StepMemory& step) {
  return bytes_on_device(workload.tables[static_cast<std::size_t>(shape.table)], shape, step);
}

std::int64_t table_bytes(const Table& table, const StepMemory& step, const TableKernel& kernel) {
  return bytes_on_device(table, {.rows = table.rows, .dim = table.dim, .kernel = kernel}, step);
}

std::int64_t workload_bytes(const Workload& workload, const StepMemory& step) {
  std::int64_t bytes = 0;
  for (const Table& table : workload.tables) bytes += table_bytes(table, step);
  return bytes;
}

std::string describe_bytes(const Workload& workload, const StepMemory& step) {
  const bool states = std::any_of(
      workload.tables.begin(), workload.tables.end(),
      [](const Table& table) { return state_bytes_per_row(table.optimizer, table.dim) > 0; });
  const bool buffers = step.buffers != StepBuffers::kOff;
  std::string text = format_bytes(workload_bytes(workload, step));
  if (states || buffers) text += " with ";
  if (states) text += "optimizer states";
  if (buffers) text += states ? " and buffers" : "buffers";
  return text;
}

bool add_offloaded_bytes(const Table& table, std::int64_t& total) {
  const std::int64_t column = row_bytes(table, 1) + kCacheBytesPerRow + kCacheBytesPerCachedRow;
  std::int64_t bytes = 0;
  return !__builtin_mul_overflow(table.rows, table.dim * column, &bytes) &&
         !__builtin_add_overflow(total, bytes, &total);
}

}  // namespace neuroshard
