#pragma once

#include <cstdint>

#include "engine/core/compute_kernel.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"

namespace neuroshard {

/// What tables cost with the kernels that they may have, for who chooses between those. A device
/// costs the sum of its shards, and what a shard costs is linear in 1 / bandwidth of its kernel.
/// Const access is thread-safe.
class KernelCostModel {
 public:
  virtual ~KernelCostModel() = default;
  /// Bytes per ms that a kernel of that table reads and writes.
  [[nodiscard]] virtual double bandwidth_of(std::int32_t table,
                                            const TableKernel& kernel) const = 0;
  /// Milliseconds of a shard of `table`.
  [[nodiscard]] virtual double shard_ms(const Table& table, const ShardShape& shape) const = 0;
};

}  // namespace neuroshard
