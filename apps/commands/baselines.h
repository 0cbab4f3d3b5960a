#pragma once

#include <string>
#include <vector>

#include "apps/console/console.h"
#include "engine/core/cost_error.h"
#include "engine/planner/planner.h"
#include "io/formats/plan_export.h"

namespace neuroshard::apps {

/// What the baselines would have planned, all but `algorithm`, in a second each and two together,
/// less `overrun_s`, what the plan's own search took beyond its limit: nobody waits for them. Those
/// that no time is left for are not run. Empty after an interrupt: the user wants to go. Errors: as
/// compare_plans(), kCancelled where there is time for none, and kInternal where memory or threads
/// do not do for it.
Result<std::vector<ComparedPlan>> compare_baselines(const Workload& workload,
                                                    const Cluster& cluster,
                                                    const CostModels& models,
                                                    const std::string& algorithm, double overrun_s,
                                                    const PlanOptions& options);

/// A table of their costs beside `cost_ms`, which has that error, which of them time ended, and
/// which is the best; "" without baselines.
std::string baseline_report(const Console& console, const std::vector<ComparedPlan>& baselines,
                            double cost_ms, const CostError& error);

/// The same for a report file.
std::vector<io::BaselineCost> baseline_costs(const std::vector<ComparedPlan>& baselines);

}  // namespace neuroshard::apps
