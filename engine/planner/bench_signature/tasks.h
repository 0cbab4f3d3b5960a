#pragma once

#include <cstddef>

#include "engine/core/cluster.h"
#include "engine/core/move_limit.h"
#include "engine/core/rng.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/planner/bench_signature/settings.h"
#include "engine/planner/planner.h"

namespace neuroshard::signature {

/// One search of a setting, but for the algorithm. A function of the setting and the index alone.
struct Task {
  CostModels models;
  Workload workload;
  Cluster cluster;
  PlanOptions options;
  MoveLimit limit;  ///< of replan()
};
Result<Task> make_task(const Setting& setting, std::size_t index);

/// The same tables after half of the lookups have become more or fewer.
Workload with_other_lookups(Workload workload, Rng& rng);

}  // namespace neuroshard::signature
