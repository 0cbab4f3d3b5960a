#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "engine/planner.h"

// A search minds no file format: what it finds is put as the format has it, and where the format
// has no place for it, another algorithm's plan may do.

namespace neuroshard::apps {

/// Puts the plan as a file in the format holds it (io::plan_as_written), with the costs it has so.
Status put_as_written(std::string_view format, const Workload& workload, const CostModels& models,
                      PlanResult& result);

/// kInvalidInput, naming the table, when a plan as written has one whole that may not be: columns
/// on one device that the format holds as one.
Status check_joined_columns(std::string_view format, const Workload& workload, const Plan& plan);

/// Why the format has no place for a plan; OK when it has.
using Refusal = std::function<Status(const PlanResult&)>;

/// The cheapest of `plans` that the format has a place for, as written. `refused` is why the plan
/// to be written has none. Errors: kInfeasible, with the memory per device that would do.
Result<PlanResult> cheapest_writable(std::string_view format, const Workload& workload,
                                     const Cluster& cluster, const CostModels& models,
                                     const std::vector<ComparedPlan>& plans, const Status& refused,
                                     const Refusal& refusal);

}  // namespace neuroshard::apps
