#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/compute_kernel.h"
#include "engine/core/device_set.h"
#include "engine/core/plan.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/sharding.h"
#include "engine/core/step_memory.h"
#include "engine/core/table.h"

namespace neuroshard::search {

/// Beside which shards of a table every device may hold its hottest rows.
enum class HotRowsBeside { kNone, kWhole, kAnyShards };

/// Which layouts a search may give one table.
struct TableSpace {
  const Table* table = nullptr;
  AllowedSharding sharding{};
  DeviceSet devices{};   ///< that its shards may be on
  TableKernel kernel{};  ///< of its shards, but for replicas, which are fused
  HotRowsBeside hot_rows = HotRowsBeside::kAnyShards;
  bool counted = true;  ///< as memory; if not, whoever searches has taken it off already
  /// Whether its columns may be in pieces of any multiple of 4; if not, halving has to lead there.
  bool any_widths = false;
  /// Whether pieces of its columns on one device have to be equally wide.
  bool one_width = false;
  /// Whether its rows are in even blocks over all devices or not divided at all.
  bool rows_over_all = false;
  /// In how many equal pieces of columns a table that is not pooled is when it is not whole, a
  /// power of two: see sequence_columns(). 0: halves, until a search decides.
  std::int32_t sequence_parts = 0;
  /// Its columns are in at most so many blocks of one width, each on a device of its own: see
  /// equal_columns.h. 0: in any pieces.
  std::int32_t most_blocks = 0;
};

/// What a search may choose: a layout for each table of a workload, which must outlive it. Whoever
/// searches asks this and not the tables, so that a limit that somebody adds is an edit here and
/// the workload stays as it is.
struct SearchSpace {
  std::vector<TableSpace> tables;  ///< of the workload, in its order
  StepMemory step{};               ///< that the bytes of shards count

  [[nodiscard]] const TableSpace& of(std::int32_t table) const {
    return tables[static_cast<std::size_t>(table)];
  }
  /// So many rows and columns of a table, with its kernel.
  [[nodiscard]] ShardShape shape(std::int32_t table, std::int64_t rows, std::int32_t dim,
                                 std::int32_t row_blocks = 0) const {
    return {table, rows, dim, row_blocks, false, of(table).kernel};
  }
  [[nodiscard]] ShardShape whole(std::int32_t table) const {
    return shape(table, of(table).table->rows, of(table).table->dim);
  }
  [[nodiscard]] ShardShape replica(std::int32_t table) const {
    return {table, of(table).table->rows, of(table).table->dim, 0, true, {}};
  }
  /// What such a shard takes of its device's memory.
  [[nodiscard]] std::int64_t bytes(const ShardShape& shape) const {
    const TableSpace& own = of(shape.table);
    return own.counted ? bytes_on_device(*own.table, shape, step) : 0;
  }
  [[nodiscard]] std::int64_t whole_bytes(std::int32_t table) const { return bytes(whole(table)); }
  /// The whole table on `device`, with its kernel where that is not kEveryDevice.
  [[nodiscard]] Shard whole_on(std::int32_t device, std::int32_t table) const;
};

/// What the table itself allows, fused.
TableSpace space_of(const Table& table);

/// The same of all tables, without buffers.
SearchSpace space_of(const Workload& workload);

/// What they allow on that cluster: a table that may be on each device may be anywhere, and on a
/// single device every table is whole, whatever it allows elsewhere.
SearchSpace space_of(const Workload& workload, const Cluster& cluster);

/// Gives tables the kernels that the plan has them with; those in host memory are not on every
/// device.
void give_kernels(const Plan& plan, SearchSpace& space);

/// Bytes of all tables, whole, each with its kernel.
std::int64_t bytes_of_all(const SearchSpace& space);

}  // namespace neuroshard::search
