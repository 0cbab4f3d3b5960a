#pragma once

#include <cstdint>
#include <string>

#include "engine/core/compute_kernel.h"
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
  TableKernel kernel{};  ///< that of all shards of its table; fused on every device

  [[nodiscard]] std::int64_t rows() const { return row_end - row_begin; }
  [[nodiscard]] std::int32_t dim() const { return column_end - column_begin; }
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// The part of a shard that costs and memory depend on: shards of equal shape cost the same.
struct ShardShape {
  std::int32_t table = 0;
  std::int64_t rows = 0;
  std::int32_t dim = 0;
  /// In how many even blocks the rows of its columns are dealt out, one of which it is: TorchRec's
  /// formula tells those over all devices from those over one host. 0: not known to be one.
  std::int32_t row_blocks = 0;
  /// Every device holds the whole table, or, with hot rows, these alone.
  bool replicated = false;
  TableKernel kernel{};
  /// Of row_blocks, whether block after block is on device after device, from a multiple of as many
  /// on: what reduce_scattered() asks.
  bool in_order = false;
  /// The devices with rows of its columns are whole groups [k n, (k + 1) n) of so many devices, one
  /// block on each; the largest such n. Hosts of as many, or of a part of it that divides it, have
  /// a block on each of their devices. 0: not known where the other rows are.
  std::int32_t device_group = 0;

  /// Whether each host with rows of its columns has a block on each of its devices.
  [[nodiscard]] bool on_whole_hosts(std::int32_t devices_per_host) const {
    return device_group > 0 && device_group % devices_per_host == 0;
  }
  /// Whether its table's partial sums go by a reduce-scatter of their own: TorchRec runs one over
  /// all devices and one over those of each host.
  [[nodiscard]] bool reduce_scattered(std::int32_t devices, std::int32_t devices_per_host) const {
    return in_order && row_blocks > 1 && (row_blocks == devices || row_blocks == devices_per_host);
  }
  friend bool operator==(const ShardShape&, const ShardShape&) = default;
};

inline ShardShape shape_of(const Shard& shard) {
  return {shard.table,
          shard.rows(),
          shard.dim(),
          0,
          shard.device == kEveryDevice,
          shard.kernel,
          false,
          0};
}

/// The whole of table `index` as one shard on `device`, with that kernel.
Shard whole_table(const Workload& workload, std::int32_t index, std::int32_t device,
                  const TableKernel& kernel = {});

/// "rows [0, 10) x columns [4, 8)", as messages say it.
std::string describe_shard(const Shard& shard);

/// Whether a shard of a valid plan has not all rows of its table.
bool has_part_of_rows(const Workload& workload, const Shard& shard);

}  // namespace neuroshard
