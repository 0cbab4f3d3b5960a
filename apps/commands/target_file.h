#pragma once

#include <string>

#include "apps/commands/plan_input.h"
#include "engine/core/cluster.h"
#include "engine/planner/plan_for_file.h"
#include "io/plans/export_options.h"

namespace neuroshard::apps {

/// kInvalidInput where the target's trainer does not run the plan, put as its file holds it. What
/// beside shards its file would hold is in `options`.
Status check_target_runs(const std::string& target, const LoadedWorkload& loaded,
                         const Cluster& cluster, const NamedCostModels& models,
                         const PlanResult& result, const io::PlanExportOptions& options);

/// What --target's trainer would be given of a plan on a cluster like this, with as many devices as
/// the plan has: for searches whose plans are compared before any is written. `loaded` and `models`
/// must outlive it.
PlanFile target_file(const std::string& target, const LoadedWorkload& loaded, const Cluster& like,
                     const NamedCostModels& models);

}  // namespace neuroshard::apps
