#pragma once

#include <string>

#include "apps/commands/plan_input.h"
#include "engine/core/cluster.h"
#include "engine/planner/plan_for_file.h"

namespace neuroshard::apps {

/// What --target's trainer would be given of a plan on a cluster like this, with as many devices as
/// the plan has: for searches whose plans are compared before any is written. "" as the target: any
/// plan, as it is. `loaded` and `models` must outlive it.
PlanFile target_file(const std::string& target, const LoadedWorkload& loaded, const Cluster& like,
                     const NamedCostModels& models);

}  // namespace neuroshard::apps
