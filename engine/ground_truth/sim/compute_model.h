#pragma once

#include <cstdint>
#include <span>

#include "engine/core/hardware_profile.h"
#include "engine/core/plan.h"
#include "engine/ground_truth/ground_truth.h"
#include "engine/ground_truth/sim/shard_load.h"

namespace neuroshard {

/// Bytes of the index of a row to look up, or of an offset: FBGEMM's have 64 bits.
inline constexpr double kIndexBytes = 8;

/// What one shard asks of the device, before anything overlaps.
struct ShardDemand {
  double lookups = 0;   ///< of the batch that reach the shard
  double distinct = 0;  ///< rows among them
  double hit_rate = 0;  ///< of the lookups' row reads in the L2 cache, forward

  // Forward.
  double gather_bytes = 0;  ///< rows read from device memory
  double stream_bytes = 0;  ///< indices, offsets, outputs
  double l2_bytes = 0;      ///< everything through the L2
  double cycles = 0;        ///< of one multiprocessor

  // Backward: sort of the looked-up rows, then one pass over the sorted lookups.
  double backward_gather_bytes = 0;  ///< gradient rows missed, weight rows read and written
  double backward_l2_bytes = 0;
  double backward_cycles = 0;
};

/// What a shard shares with the others of one fused lookup.
struct FusedWith {
  double concurrent_tables = 1;  ///< that the L2 serves at a time
  std::int32_t widest_dim = 0;   ///< of all shards; 0: the shard's own
};

/// Demand of a shard in a fused lookup. Source of the bytes: the steps of FBGEMM's exact
/// table-batched lookup and the L2 model of Lin et al. (2201.07821), with the reuse histogram in
/// place of their uniform draws. Cycles: FBGEMM has 8 lanes of a warp read a row where no table's
/// dim is above 32, 16 where none is above 64, and all 32 otherwise
/// (embedding_forward_split_template.cu, DISPATCH_OPTIMAL_FORWARD_KERNEL).
ShardDemand shard_demand(const HardwareProfile& profile, const ShardLoad& load,
                         const FusedWith& fused = {});

/// Roofline time of one fused lookup over the shards. Each part takes the largest of memory, L2
/// and issue time, each summed over the shards first: tables of different bottlenecks overlap, and
/// kernels are launched once, so a fused group of like dims costs less than its members alone. One
/// wide table has all of them read by wider groups of lanes. Per-lookup work
/// (issue, indices, sort) does not depend on the dim, so half a column split costs more than half.
/// No shards launch nothing and cost 0. `samples`: of the batch that is looked up.
ComputeTime simulate_compute(const HardwareProfile& profile, std::span<const ShardLoad> loads,
                             std::int64_t samples);
/// The same of the shards of one device for the whole batch.
ComputeTime simulate_compute(const HardwareProfile& profile, const Workload& workload,
                             std::span<const Shard> shards);

/// Milliseconds of such a lookup's backward pass that sort the rows: no gradient is needed for
/// that.
double simulate_sort_ms(const HardwareProfile& profile, std::span<const ShardLoad> loads);

}  // namespace neuroshard
