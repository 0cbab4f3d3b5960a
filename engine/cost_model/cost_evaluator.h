#pragma once

#include <cstdint>
#include <memory>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "search/plan_evaluator.h"

namespace neuroshard {

/// What a search asks for costs, and what shows a plan's costs part by part.
class CostEvaluator : public search::PlanEvaluator {
 public:
  /// What `plan` costs in all detail, its shards placed in the plan's order. REQUIRES a plan that
  /// is valid for the workload, for devices() devices, with replicated
  /// tables and kernels other than fused only where the costs know them. Bytes are not counted:
  /// set_bytes() does. Interns shapes.
  virtual PlanCost evaluate(const Plan& plan) = 0;
};

}  // namespace neuroshard
