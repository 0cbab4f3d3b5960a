#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// What the costs of a plan are made of; vectors are [devices].
struct PlacedPlan {
  std::vector<float> compute_ms;
  std::vector<std::int64_t> dim_sums;  ///< of Exchanged::dims
  Collectives collectives;
  std::vector<DeviceWork> work;
};

/// Places the plan's shards in their order, which counts: sums in another differ by rounding.
/// Interns shapes. REQUIRES a valid plan; with replicated tables only where the evaluator knows
/// them.
PlacedPlan place(const Plan& plan, PlanEvaluator& evaluator);

/// Milliseconds; of a plan in canonical order what a plan file says. REQUIRES what place() does.
double plan_cost(const Plan& plan, PlanEvaluator& evaluator);

}  // namespace neuroshard::search
