#pragma once

#include "engine/planner/planner.h"

// make_plan() and replan() for networks, with the scalar kernels whatever the processor has: others
// add up in another order, and plans differ from one instruction set to the next.

namespace neuroshard::signature {

/// As the engine's, but for PlanResult::cost, which stays empty. REQUIRES valid arguments, networks
/// and an algorithm that is known.
Result<PlanResult> make_plan_scalar(const Workload& workload, const Cluster& cluster,
                                    const CostModels& models, const PlanOptions& options);

/// The same. REQUIRES that `now` has all tables and fits.
Result<PlanResult> replan_scalar(const Workload& workload, const Cluster& cluster,
                                 const CostModels& models, const Plan& now, const MoveLimit& limit,
                                 const PlanOptions& options);

}  // namespace neuroshard::signature
