#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// `Shard::device` of a table that every device holds whole (data parallel).
inline constexpr std::int32_t kEveryDevice = -1;

/// A rectangle of a table, rows [row_begin, row_end) x columns [column_begin, column_end), on one
/// device. A whole table, a column range, a row range and a grid block are all shards.
struct Shard {
  std::int32_t table = 0;  ///< index into Workload::tables
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int32_t column_begin = 0;
  std::int32_t column_end = 0;
  std::int32_t device = 0;

  [[nodiscard]] std::int64_t rows() const { return row_end - row_begin; }
  [[nodiscard]] std::int32_t dim() const { return column_end - column_begin; }
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// A table that a plan has in host memory.
struct OffloadedTable {
  std::int32_t table = 0;  ///< index into Workload::tables
  TableKernel kernel;      ///< of all its shards

  friend bool operator==(const OffloadedTable&, const OffloadedTable&) = default;
};

/// Shards that cover every table exactly once.
struct Plan {
  std::int32_t devices = 0;
  std::vector<Shard> shards;
  std::vector<OffloadedTable> offloaded{};  ///< by table, each once; all others are fused

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Row shards that a search may make.
enum class RowSplits {
  kOff,  ///< none
  /// A table over all devices in blocks of ceil(rows / devices), TorchRec's row_wise; or columns of
  /// it over the devices of one host so, its table_row_wise and grid_shard.
  kEven,
  kAny,  ///< also halves of its rows, quarters, .., on any devices
};

/// The words of the command and the messages: "off", "even", "any".
std::string_view to_string(RowSplits row_splits);

/// The part of a shard that costs and memory depend on: shards of equal shape cost the same.
struct ShardShape {
  std::int32_t table = 0;
  std::int64_t rows = 0;
  std::int32_t dim = 0;
  /// In how many even blocks the rows of its columns are dealt out, one of which it is: TorchRec's
  /// formula tells those over all devices from those over one host. 0: not known to be one.
  std::int32_t row_blocks = 0;
  bool replicated = false;  ///< every device holds the whole table

  friend bool operator==(const ShardShape&, const ShardShape&) = default;
};

inline ShardShape shape_of(const Shard& shard) {
  return {shard.table, shard.rows(), shard.dim(), 0, shard.device == kEveryDevice};
}

/// Of each shard of the plan; row_blocks where the rows of its columns are in even blocks.
std::vector<ShardShape> shapes_of(const Plan& plan);

/// "rows [0, 10) x columns [4, 8)", as messages say it.
std::string describe_shard(const Shard& shard);

/// Whether a shard of a valid plan has not all rows of its table.
bool has_part_of_rows(const Workload& workload, const Shard& shard);

/// Rows of an even block when `rows`, at least 1, are dealt out in so many: the last that gets any
/// has what is left, and with few rows some get none.
std::int64_t block_rows(std::int64_t rows, std::int32_t blocks);

/// The whole of table `index` as one shard on `device`.
Shard whole_table(const Workload& workload, std::int32_t index, std::int32_t device);

/// Tables of which the plan has no shards, in order.
std::vector<std::int32_t> missing_tables(const Workload& workload, const Plan& plan);
/// The plan with those whole on its first device: what is valid where nothing else is wrong.
Plan with_missing_tables(const Workload& workload, Plan plan);

/// Bytes of a shard on its device, with the kernel that the workload has for its table:
/// bytes_on_device().
std::int64_t shard_bytes(const Workload& workload, const ShardShape& shape);

/// kInvalidInput, naming the first table that every device holds, with `why` that is refused.
Status check_no_replicas(const Plan& plan, std::string_view why);

/// Sorts shards by table, then row_begin, then column_begin: the order of plan files.
void canonicalize(Plan& plan);

/// Costs of one device, milliseconds.
struct DeviceCost {
  double compute_ms = 0;
  double forward_comm_ms = 0;
  double backward_comm_ms = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t dim_sum = 0;
  std::int64_t host_bytes = 0;  ///< of its shards in the host's memory

  [[nodiscard]] double total_ms() const { return compute_ms + forward_comm_ms + backward_comm_ms; }
};

/// What a plan costs: `cost_ms` is the largest total of a device.
struct PlanCost {
  double cost_ms = 0;
  std::vector<DeviceCost> per_device;
};

}  // namespace neuroshard
