#pragma once

#include <span>

#include "engine/core/plan.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// Several cost models as one that searches go by: it costs a plan what the worst of them does,
/// with regrets compared as milliseconds of the first model. That is one whose exchanges depend on
/// the whole plan, if there is any; of others a device's costs may have them, or are put beside the
/// first's by as much as exchanges differ around the plan that has these costs. By the models'
/// order, the least that a plan costs is in `best_ms`. The models must outlive what is returned.
CostModels worst_of_models(std::span<const CostModels* const> models,
                           std::span<const PlanCost> costs, std::span<const double> best_ms);

}  // namespace neuroshard
