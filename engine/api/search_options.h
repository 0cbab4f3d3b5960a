#pragma once

#include <neuroshard/engine.h>

#include "engine/api/plan_target.h"
#include "engine/core/status.h"
#include "engine/planner/plan_options.h"

// How a caller wants to search.

namespace neuroshard::api {

/// neuroshard_plan_options, checked.
struct GivenSearch {
  PlanOptions options;  ///< without a sink of progress
  PlanTarget target;
  bool whole_tables = false;
};

/// What is 0 takes its default. The cancellation has to outlive what comes back.
Result<GivenSearch> read_search(const neuroshard_plan_options& given);

/// The same for a plan from nothing, which refuses what replans alone know.
Result<GivenSearch> read_plan_search(const neuroshard_plan_options& given);

}  // namespace neuroshard::api
