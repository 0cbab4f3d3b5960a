#pragma once

#include <functional>
#include <string>

#include "engine/api/handles.h"
#include "engine/core/status.h"
#include "io/plans/table_numbers.h"

namespace neuroshard::api {

/// The plan of the handle with its tables counted as the workload does, by their names, where it
/// has some, and named so. Messages call the plan `name`; `note` gets what had to be said about it.
/// Errors: kInvalidInput for a plan of other tables.
Result<io::PlanDocument> numbered_for(
    const neuroshard_workload& workload, const neuroshard_plan& plan, const std::string& name,
    io::UnknownTables unknown = io::UnknownTables::kRenamed,
    const std::function<void(const std::string&)>& note = [](const std::string&) {});

}  // namespace neuroshard::api
