#pragma once

#include <vector>

#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/shard_load.h"

namespace neuroshard {

/// What the devices of a plan do in a step, whatever the hardware.
struct PlanLoads {
  std::vector<std::vector<ShardLoad>> lookups;  ///< of each device's shards and all replicas
  ExchangeValues exchange;                      ///< forward; backward the same values return
  double reduced_bytes = 0;  ///< fp32 gradients of what every device holds, as an all-reduce's
  /// Sums of hot rows, a sample, that a device adds to those of cold ones which arrive.
  double merged_values = 0;
};

/// Row shards of the same columns have the skew of as many even blocks, block_skews(). Which is the
/// hottest is not known: the order begins at another one for every table, so that the hottest do
/// not all meet on one device. Row shards of pooled tables give partial sums, which each host adds
/// up and sends on once. Those of tables that have a block on each device, or on each of one host,
/// in the devices' order go by a collective of their own. Where not all devices have rows of a
/// table, hosts add up before they send on. REQUIRES a plan that is valid for the workload.
/// devices_per_host: all devices where there is one host.
PlanLoads plan_loads(const Workload& workload, const Plan& plan, std::int32_t devices_per_host);

/// Whether every device holds the shard's table whole.
inline bool is_replica(const Shard& shard) { return shard.device == kEveryDevice; }

}  // namespace neuroshard
