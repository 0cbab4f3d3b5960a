#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"

namespace neuroshard {

/// What a whole table asks of one device a step, milliseconds.
struct TableDemand {
  double compute_ms = 0;   ///< of its lookups, both ways
  double exchange_ms = 0;  ///< of its outputs to all devices, and their gradients back
};

/// How to spread tables over devices.
struct SpreadRule {
  std::int64_t replicated_bytes = 0;  ///< smaller tables go to every device
  double grain = 1;             ///< a piece's compute is at most this share of a device's mean
  bool counts_exchange = true;  ///< whether devices are balanced by exchanges, too
};

/// The rules that are worth trying.
std::vector<SpreadRule> spread_rules();

/// A plan in the manner of HugeCTR's automatic sharding (NVIDIA-Merlin/HugeCTR,
/// samples/dlrm/sharding): small tables on every device, the rows of heavy ones in so many even
/// blocks that no block is large, each piece to the device with the least to do, the largest first.
/// Tables without enough rows, with less than two lookups a sample, or that are not pooled are
/// divided by columns. Deterministic. Knows neither what tables allow nor how much memory devices
/// have: whoever asks checks. REQUIRES a demand of each table and a valid workload.
Plan make_spread_plan(const Workload& workload, const std::vector<TableDemand>& demand,
                      std::int32_t devices, const SpreadRule& rule);

}  // namespace neuroshard
