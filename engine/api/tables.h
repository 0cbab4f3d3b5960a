#pragma once

#include <neuroshard/engine.h>

#include <cstdint>

#include "engine/core/shard.h"
#include "engine/core/status.h"
#include "engine/core/table.h"

// Tables and shards as the C interface has them.

namespace neuroshard::api {

/// The table that a caller describes, checked; its reuse is of batches of that size.
Result<Table> read_table(const neuroshard_table& given, std::int64_t batch_size);

/// NEUROSHARD_KERNEL_.. of a kernel.
std::int32_t kernel_bit(ComputeKernel kernel);

/// A shard of ours; kernel 0 where every device holds it, as there is no choice of kernels then.
neuroshard_shard c_shard(const Shard& shard);

/// A table of ours without its struct_size. Texts, histogram and devices are the table's own.
neuroshard_table c_table(const Table& own);

}  // namespace neuroshard::api
