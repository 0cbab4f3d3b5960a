#include "engine/core/table.h"

#include <algorithm>
#include <cmath>

#include "engine/core/bytes.h"
#include "engine/core/decimal.h"

namespace neuroshard {
namespace {

/// Bytes that an optimizer keeps for a row, whatever columns there are.
std::int64_t row_states(const Table& table) { return state_bytes_per_row(table.optimizer, 0); }

/// FBGEMM's caches: for each row its place among all tables' rows, for each cached row which row it
/// is and when it was used last.
constexpr std::int64_t kCacheBytesPerRow = 4;
constexpr std::int64_t kCacheBytesPerCachedRow = 16;

/// Of a shard, with the table's kernel.
std::int64_t rows_on_device(const Table& table, std::int64_t rows, std::int32_t dim) {
  if (!table.kernel.offloaded()) return rows * row_bytes(table, dim);
  const std::int64_t states = rows * row_states(table);
  if (table.kernel.kernel == ComputeKernel::kFusedUvm) return states;
  // 7 % of 100 rows are 7, though 0.07 is a little more as a double.
  constexpr double kExact = 1 - 4e-16;
  const auto cached = static_cast<std::int64_t>(
      std::ceil(kExact * table.kernel.load_factor * static_cast<double>(rows)));
  return states + rows * kCacheBytesPerRow + cached * cached_row_bytes(table, dim);
}

std::string number(double value) { return general_decimals(value, 9); }

Status validate_histogram(const ReuseHistogram& histogram) {
  double sum = 0;
  for (int bin = 0; bin < kReuseBins; ++bin) {
    const double share = histogram[static_cast<std::size_t>(bin)];
    if (!(share >= 0 && share <= 1)) {
      return invalid_input("reuse_histogram[" + std::to_string(bin) + "] is " + number(share) +
                           ", expected a share from 0 to 1");
    }
    sum += share;
  }
  if (sum != 0 && std::abs(sum - 1) > 1e-3) {
    return invalid_input("reuse_histogram adds up to " + number(sum) +
                         ", expected 1 (or all 0 for a table without lookups)");
  }
  return {};
}

}  // namespace

std::int64_t bytes_per_element(DataType type) { return type == DataType::kFp16 ? 2 : 4; }

std::string_view to_string(DataType type) { return type == DataType::kFp16 ? "fp16" : "fp32"; }

Result<DataType> parse_data_type(std::string_view text) {
  if (text == "fp32") return DataType::kFp32;
  if (text == "fp16") return DataType::kFp16;
  return invalid_input("data type '" + std::string(text) + "', expected fp32 or fp16");
}

Status validate(const Table& table) {
  if (table.rows < 1) {
    return invalid_input("rows is " + std::to_string(table.rows) + ", expected at least 1");
  }
  if (table.dim < 1 || table.dim > kMaxDim) {
    return invalid_input("dim is " + std::to_string(table.dim) + ", expected 1 to " +
                         std::to_string(kMaxDim));
  }
  if (!std::isfinite(table.pooling_factor) || table.pooling_factor < 0) {
    return invalid_input("pooling_factor is " + number(table.pooling_factor) +
                         ", expected a finite number of at least 0");
  }
  if (table.features < 1 || table.features > kMaxFeatures) {
    return invalid_input("features is " + std::to_string(table.features) + ", expected 1 to " +
                         std::to_string(kMaxFeatures));
  }
  NEUROSHARD_RETURN_IF_ERROR(validate(table.sharding, kMaxDim));
  NEUROSHARD_RETURN_IF_ERROR(validate(table.kernels));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(table.rows, table.dim * row_bytes(table, 1), &bytes)) {
    return invalid_input("rows x dim is " + std::to_string(table.rows) + " x " +
                         std::to_string(table.dim) + ", expected below 2^63 bytes");
  }
  return validate_histogram(table.reuse_histogram);
}

Status check_given_histogram(const Table& table) {
  const auto is_zero = [](double share) { return share == 0; };
  if (!(table.pooling_factor > 0) ||
      !std::all_of(table.reuse_histogram.begin(), table.reuse_histogram.end(), is_zero)) {
    return {};
  }
  return invalid_input("found zeros alone for a pooling factor of " + number(table.pooling_factor) +
                       ", expected shares that add up to 1");
}

std::int64_t row_bytes(const Table& table, std::int32_t dim) {
  return dim * bytes_per_element(table.data_type) + state_bytes_per_row(table.optimizer, dim);
}

std::int64_t cached_row_bytes(const Table& table, std::int32_t dim) {
  return dim * bytes_per_element(table.data_type) + kCacheBytesPerCachedRow;
}

std::int64_t buffer_bytes(const Table& table, std::int64_t rows, std::int32_t dim,
                          bool replicated) {
  const TableBuffers& own = table.buffers;
  if (own.kept == 0) return 0;
  const double batch = replicated ? own.devices : 1;
  // Multiplied first: a quotient may be rounded up where the share is a whole number.
  const auto of_rows = [&](double bytes) {
    return bytes * static_cast<double>(rows) / (static_cast<double>(table.rows) * batch);
  };
  const double outputs = dim * own.column_bytes;
  const bool cached = !replicated && table.kernel.kernel == ComputeKernel::kFusedUvmCaching;
  const std::int64_t times = own.kept + (cached ? own.prefetched : 0);
  return times * static_cast<std::int64_t>(std::ceil(of_rows(own.lookup_bytes))) +
         static_cast<std::int64_t>(std::ceil(table.pooled ? outputs / batch : of_rows(outputs)));
}

std::int64_t bytes_on_device(const Table& table, std::int64_t rows, std::int32_t dim,
                             bool replicated) {
  return rows_on_device(table, rows, dim) + buffer_bytes(table, rows, dim, replicated);
}

std::int64_t bytes_on_host(const Table& table, std::int64_t rows, std::int32_t dim) {
  if (!table.kernel.offloaded()) return 0;
  return rows * (row_bytes(table, dim) - row_states(table));
}

std::int64_t table_bytes(const Table& table) {
  return bytes_on_device(table, table.rows, table.dim);
}

std::int64_t most_bytes(const Table& table) { return table.rows * table.dim * row_bytes(table, 1); }

std::string table_label(const Workload& workload, std::int32_t table) {
  const std::string& name = workload.tables[static_cast<std::size_t>(table)].name;
  return "table " + std::to_string(table) + (name.empty() ? "" : " (" + name + ")");
}

std::int64_t workload_bytes(const Workload& workload) {
  std::int64_t bytes = 0;
  for (const Table& table : workload.tables) bytes += table_bytes(table);
  return bytes;
}

std::string describe_bytes(const Workload& workload) {
  const bool states = std::any_of(
      workload.tables.begin(), workload.tables.end(),
      [](const Table& table) { return state_bytes_per_row(table.optimizer, table.dim) > 0; });
  const bool buffers = workload.buffers != StepBuffers::kOff;
  std::string text = format_bytes(workload_bytes(workload));
  if (states || buffers) text += " with ";
  if (states) text += "optimizer states";
  if (buffers) text += states ? " and buffers" : "buffers";
  return text;
}

std::int64_t room_for_buffers(const Workload& workload) {
  return workload.buffers == StepBuffers::kOff ? 0 : kBuffersOfAll;
}

bool add_offloaded_bytes(const Table& table, std::int64_t& total) {
  const std::int64_t column = row_bytes(table, 1) + kCacheBytesPerRow + kCacheBytesPerCachedRow;
  std::int64_t bytes = 0;
  return !__builtin_mul_overflow(table.rows, table.dim * column, &bytes) &&
         !__builtin_add_overflow(total, bytes, &total);
}

Status validate(const Workload& workload) {
  if (workload.tables.empty()) return invalid_input("no tables, expected at least one");
  if (workload.batch_size < 1) {
    return invalid_input("batch_size is " + std::to_string(workload.batch_size) +
                         ", expected at least 1");
  }
  std::int64_t total = room_for_buffers(workload);
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const Table& table = workload.tables[index];
    NEUROSHARD_RETURN_IF_ERROR(
        validate(table).with_context("tables[" + std::to_string(index) + "]"));
    if (__builtin_add_overflow(total, most_bytes(table), &total)) {
      return invalid_input("tables[0.." + std::to_string(index) +
                           "] together, expected below 2^63 bytes");
    }
  }
  return {};
}

}  // namespace neuroshard
