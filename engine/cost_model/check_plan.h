#pragma once

#include <cstdint>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// kInvalidInput where the models have no costs of how a plan divides its tables: of tables on
/// every device or in host memory, or of rows dealt out in other ways than they know. So a planner
/// need not know which cost model it has. Hosts have `devices_per_host` devices, as a Cluster says
/// it. REQUIRES a plan that is valid for the workload.
Status check_plan(const CostModels& models, const Workload& workload, const Plan& plan,
                  std::int32_t devices_per_host);

}  // namespace neuroshard
