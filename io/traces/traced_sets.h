#pragma once

#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/cost_data/collection.h"
#include "io/cost_data/cost_data.h"
#include "io/traces/step_trace.h"

namespace neuroshard::io {

/// What traces have measured of a plan's devices, as compute data: each device's shards are a set,
/// its fused lookups' time, forward and backward, is what that costs.
struct TracedSets {
  Collection collection;
  std::vector<Table> pool;  ///< each shard as a table of its own
  std::vector<ComputeSample> samples;
};

/// Errors: kInvalidInput where the traces have no times, or are of another plan: of other ranks,
/// columns, another batch or lookups far from the workload's; and for shards that cost data has no
/// place for: of part of the rows, on every device, hot rows, in host memory, not pooled or not in
/// fp32. REQUIRES that the plan fits the workload. Thread-safe.
Result<TracedSets> make_traced_sets(const StepTrace& trace, const Workload& workload,
                                    const Plan& plan);

}  // namespace neuroshard::io
