#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/table.h"

namespace neuroshard {

/// Which cells of the tables each device holds under a plan: what has to travel before another plan
/// of the same tables can run. A table that no device holds is new: nothing of it has to travel.
/// Immutable; thread-safe. What it is made from must outlive it.
class HeldCells {
 public:
  /// REQUIRES a plan that is valid for `workload`, but that it may lack tables.
  HeldCells(const Workload& workload, const Plan& plan);

  /// Bytes of the shard, weights and optimizer states, that its device does not hold: nothing where
  /// it has all of those cells, in whatever shards. A number that an optimizer keeps for a row is
  /// there where any of the row's cells of the shard are. Of a shard that every device is to have,
  /// those of all devices, or 2^63 - 1 for more.
  [[nodiscard]] std::int64_t missing_bytes(const Shard& shard) const;
  /// The devices that hold cells of the shard, in order; nothing where every device holds all.
  [[nodiscard]] std::vector<std::int32_t> holders_of(const Shard& shard) const;
  /// The one of them with the most, the first of equals; kEveryDevice where every device holds all.
  [[nodiscard]] std::int32_t home_of(const Shard& shard) const;

 private:
  [[nodiscard]] std::span<const Shard> held_by(std::int32_t table, std::int32_t device) const;
  [[nodiscard]] std::int64_t missing_on(const Shard& shard, std::int32_t device) const;

  const Workload& workload_;
  std::int32_t devices_;
  std::vector<std::vector<Shard>> of_table_;  // by device
};

/// Bytes that change from `from` to `to` brings to devices that do not hold them: weights and
/// optimizer states, each as often as devices get it. REQUIRES plans valid for `workload`, but
/// that `from` may lack tables.
std::int64_t moved_bytes(const Workload& workload, const Plan& from, const Plan& to);

}  // namespace neuroshard
