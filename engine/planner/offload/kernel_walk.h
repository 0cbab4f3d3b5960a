#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/rng.h"
#include "engine/planner/offload/host_pins.h"
#include "engine/planner/offload/kernel_costs.h"
#include "engine/planner/offload/settle_kernels.h"

namespace neuroshard {

/// A local search over both where shards are and which kernels their tables have, on what a plan
/// costs when its caches have taken the memory that is left, which searches for shards alone do not
/// know. One shard moves or two change places, a table has another kernel, or both; what makes the
/// plan dearer is taken back. Row shards stay where they are, nothing is split, and no two shards
/// of a table meet. Plans keep to devices' and hosts' memory and to what tables allow. The same
/// seed walks the same. Not thread-safe.
class KernelWalk {
 public:
  /// Begins at the shards of `plan` with those kernels, one a table, which it has memory for.
  KernelWalk(const KernelCosts& costs, const Hosts& hosts, const Plan& plan,
             std::vector<TableKernel> kernels, std::uint64_t seed);

  /// Tries one change.
  void step();

  /// The plan as it is now, its kernels settled, and what it costs.
  [[nodiscard]] Plan plan() const;
  [[nodiscard]] double cost_ms() const { return settled_.cost_ms(); }

 private:
  [[nodiscard]] const Table& table_of(std::size_t shard) const;
  [[nodiscard]] bool may_move(std::size_t shard) const;
  [[nodiscard]] bool may_be_on(std::size_t shard, std::int32_t device) const;
  std::size_t draw_shard();
  void move(std::size_t shard);
  void swap(std::size_t shard);
  void change_kernel(std::size_t table);
  [[nodiscard]] bool within_memory(const Settled& settled) const;

  const KernelCosts& costs_;
  const Hosts hosts_;
  const Plan plan_;
  const std::vector<ShardShape> shapes_;
  Rng rng_;
  Arrangement now_;
  Arrangement next_;
  Settled settled_;  ///< now_
};

}  // namespace neuroshard
