#pragma once

#include <neuroshard/engine.h>

#include <memory>

#include "engine/api/handles.h"
#include "engine/api/search_options.h"
#include "engine/api/search_plan.h"
#include "engine/core/cluster.h"
#include "engine/core/move_limit.h"
#include "engine/core/status.h"

// Searches that go on from a plan that runs.

namespace neuroshard::api {

/// What a caller gives one.
struct Replanning {
  io::PlanDocument running;  ///< the plan that runs, its tables counted as the workload does
  Cluster devices;           ///< with what the caller does not say as that plan remembers it
  neuroshard_plan_options given{};
  GivenSearch search;
  MoveLimit limit;
};

/// Those, checked. The planner's log is told of tables that the plan alone has. Errors:
/// kInvalidInput.
Result<Replanning> read_replanning(const neuroshard_planner& planner,
                                   const neuroshard_workload& workload,
                                   const neuroshard_cluster* cluster, const neuroshard_plan* now,
                                   std::int64_t move_limit_bytes,
                                   const neuroshard_plan_options* options);

/// search_plan(), for a plan in the place of the one that runs.
Result<std::unique_ptr<neuroshard_plan>> search_near(const neuroshard_planner& planner,
                                                     const neuroshard_workload& workload,
                                                     const Replanning& replanning,
                                                     const Search& search);

}  // namespace neuroshard::api
