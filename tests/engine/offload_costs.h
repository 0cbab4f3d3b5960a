#pragma once

#include "engine/core/plan.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/offload/kernel_costs.h"

namespace neuroshard::test {

/// With TorchRec's bandwidths, columns and even blocks of rows.
inline KernelCosts kernel_costs(const Workload& workload, const Cluster& cluster) {
  return {workload, cluster, {}, {true, {.blocks = cluster.devices}}};
}

inline PlanCost torchrec_cost(const Workload& workload, const Plan& plan) {
  return planned_cost(workload, plan, load_cost_models("torchrec")->models).value();
}

}  // namespace neuroshard::test
