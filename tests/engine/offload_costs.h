#pragma once

#include "engine/core/plan.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/offload/kernel_costs.h"

namespace neuroshard::test {

/// TorchRec's formula with its own bandwidths.
inline const CostModels& formula() {
  static const CostModels models = load_cost_models("torchrec").value().models;
  return models;
}

/// By that, with columns and even blocks of rows.
inline KernelCosts kernel_costs(const Workload& workload, const Cluster& cluster) {
  return {workload, cluster, formula(), {true, {.blocks = cluster.devices}}};
}

inline PlanCost torchrec_cost(const Workload& workload, const Plan& plan) {
  return planned_cost(workload, plan, formula()).value();
}

}  // namespace neuroshard::test
