#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "search/problem.h"

namespace neuroshard::search {

/// Bytes of tables that each of several hosts has in its memory, of a plan in the making. Counts
/// nothing where they cannot become too many: tables are on the devices, or all of them on the one
/// host there is.
class HostLoads {
 public:
  /// Hosts as in `options`, their memory as the cluster has it, 0 for any. What it is made from
  /// must outlive it.
  HostLoads(const Problem& problem, const SearchOptions& options);

  /// None on any host.
  void clear();
  /// The cells as a shard on their device, or, where that is kNoDevice, nowhere.
  void add(const Shard& cells) { change(cells, 1); }
  void remove(const Shard& cells) { change(cells, -1); }
  [[nodiscard]] bool fits() const { return beyond_ == 0; }
  [[nodiscard]] bool watched() const { return !bytes_.empty(); }
  /// Whether the two are on one host. REQUIRES watched().
  [[nodiscard]] bool together(std::int32_t device, std::int32_t other) const {
    return device / devices_each_ == other / devices_each_;
  }

 private:
  void change(const Shard& cells, int sign);

  const Workload& workload_;
  const std::int32_t devices_each_;
  const std::int64_t memory_bytes_;
  std::vector<std::int64_t> bytes_;  ///< by host; empty: not watched
  std::int32_t beyond_ = 0;          ///< hosts with more than their memory
};

}  // namespace neuroshard::search
