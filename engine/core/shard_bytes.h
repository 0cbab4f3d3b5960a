#pragma once

#include <cstdint>
#include <string>

#include "engine/core/shard.h"
#include "engine/core/step_memory.h"
#include "engine/core/table.h"

namespace neuroshard {

/// Bytes that a shard keeps beside its rows, 0 where buffers are not counted. A shard of some rows
/// has that share of the lookups, and partial sums of all samples, as wide as its columns. Lookups
/// are rounded up before they are counted several times, outputs by themselves.
std::int64_t buffer_bytes(const Table& table, const ShardShape& shape, const StepMemory& step = {});

/// Bytes that a shard of the table has on its device. With kFused, rows x row_bytes(). Otherwise as
/// FBGEMM's kernels and TorchRec's planner have them (shard_estimators.py, 1.4): what the optimizer
/// keeps once a row, and for a cache 4 bytes a row, and 16 and the weights of each row in it, their
/// number rounded up. With buffer_bytes(), which are those of a replica where every device holds
/// the table.
std::int64_t bytes_on_device(const Table& table, const ShardShape& shape,
                             const StepMemory& step = {});

/// Of these, what each row in the cache of a shard of `dim` columns takes.
std::int64_t cached_row_bytes(const Table& table, std::int32_t dim);

/// Bytes that it has in the memory of the host: 0 with kFused, else its weights and what the
/// optimizer keeps for each.
std::int64_t bytes_on_host(const Table& table, const ShardShape& shape);

/// bytes_on_device() of a shard of the workload.
std::int64_t shard_bytes(const Workload& workload, const ShardShape& shape,
                         const StepMemory& step = {});

/// Bytes of the whole table as one shard on a device: bytes_on_device().
/// REQUIRES validate(table).ok().
std::int64_t table_bytes(const Table& table, const StepMemory& step = {},
                         const TableKernel& kernel = {});

/// Bytes of all tables, whole and fused. REQUIRES validate(workload).ok().
std::int64_t workload_bytes(const Workload& workload, const StepMemory& step = {});

/// "97.4 GiB", "98.2 GiB with optimizer states", "100 GiB with optimizer states and buffers": with
/// what counts.
std::string describe_bytes(const Workload& workload, const StepMemory& step = {});

/// Adds the most that shards of the table have together in any memory when hosts hold it. False
/// when that is 2^63 or more.
bool add_offloaded_bytes(const Table& table, std::int64_t& total);

}  // namespace neuroshard
