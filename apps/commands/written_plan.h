#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/flags/common_flags.h"
#include "apps/flags/export_flags.h"
#include "engine/planner/planner.h"
#include "io/plans/plan_file.h"

// A search minds no file format: what it finds is put as the format has it, and where the format
// has no place for it, another algorithm's plan may do.

namespace neuroshard::apps {

/// Puts the plan as a file in the format holds it (io::plan_as_written), with the costs it has so.
Status put_as_written(std::string_view format, const Workload& workload, const CostModels& models,
                      PlanResult& result);

/// kInvalidInput, naming the table, when a plan as written has one whole that may not be: columns
/// on one device that the format holds as one.
Status check_joined_columns(std::string_view format, const Workload& workload, const Plan& plan);

/// The text of `document`, which holds what a trainer's plan says beside shards, with the plan of
/// `result` in it and where it comes from.
Result<std::string> text_of(ExportFlags& flags, const LoadedWorkload& loaded,
                            const Cluster& cluster, const NamedCostModels& models,
                            const PlanResult& result, std::uint64_t seed,
                            io::PlanDocument document = {});

/// Why the format has no place for a plan; OK when it has.
using Refusal = std::function<Status(const PlanResult&)>;

/// The cheapest of `plans` that the format has a place for, as written. `refused` is why the plan
/// to be written has none. Errors: kInfeasible, with the memory per device that would do.
Result<PlanResult> cheapest_writable(std::string_view format, const Workload& workload,
                                     const Cluster& cluster, const CostModels& models,
                                     const std::vector<ComparedPlan>& plans, const Status& refused,
                                     const Refusal& refusal);

}  // namespace neuroshard::apps
