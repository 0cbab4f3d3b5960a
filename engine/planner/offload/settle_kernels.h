#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/core/plan.h"
#include "engine/planner/offload/kernel_costs.h"

namespace neuroshard {

/// Where the shards of a plan are, and which kernels its tables have.
struct Arrangement {
  std::vector<std::int32_t> devices;  ///< by shard
  std::vector<TableKernel> kernels;   ///< by table
};

/// That of `plan`, one of so many tables.
Arrangement arrangement_of(const Plan& plan, std::size_t tables);

/// What an arrangement is when memory that was left has gone to better kernels, by device.
struct Settled {
  std::vector<TableKernel> kernels;  ///< by table
  std::vector<double> ms;
  std::vector<std::int64_t> left;  ///< bytes; below 0: it has too little memory

  [[nodiscard]] std::size_t dearest() const;
  [[nodiscard]] double cost_ms() const { return ms[dearest()]; }
};

/// Gives tables in host memory cheaper kernels, caches as large as fit among them, where all
/// devices that hold them have memory left: on the dearest device first, where the most is saved.
/// No device gets dearer, nor beyond its memory. `shapes`: of the shards, ordered by table; shards
/// on kEveryDevice are fused. Given up, with a cost above `most_ms`, once a device that has nothing
/// left to gain is dearer than that.
Settled settle(const KernelCosts& costs, std::span<const ShardShape> shapes,
               const Arrangement& arrangement,
               double most_ms = std::numeric_limits<double>::infinity());

/// The same of a plan, whose shards get the kernels that they have then.
void settle_kernels(const KernelCosts& costs, Plan& plan);

/// Gives shards the kernels of their tables; replicas keep the fused one.
void set_kernels(std::span<const TableKernel> kernels, Plan& plan);

}  // namespace neuroshard
