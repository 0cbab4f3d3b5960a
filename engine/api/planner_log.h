#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/api/handles.h"
#include "engine/core/cluster.h"
#include "engine/planner/plan_options.h"

// What a planner tells its caller's log: a line each, and nothing where there is no log. Functions
// may run at the same time; each calls the log from the thread that it runs on.

namespace neuroshard::api {

/// `level` is NEUROSHARD_LOG_...
void log_line(const neuroshard_planner& planner, std::int32_t level, const std::string& message);

/// Nothing for an empty one.
void warn_if_any(const neuroshard_planner& planner, const std::string& warning);

/// The same as a function; the planner must outlive it.
std::function<void(const std::string&)> warnings_of(const neuroshard_planner& planner);

/// Where the planner's costs come from, if any of them are simulated.
void warn_of_simulation(const neuroshard_planner& planner);

/// Of costs that the planner's cost models were not trained on.
void warn_of_guesses(const neuroshard_planner& planner, std::int32_t devices,
                     const Workload& workload);

/// Of memory of hosts that the cost models know nothing of.
void warn_of_host_memory(const neuroshard_planner& planner, const Cluster& cluster);

/// Of what was asked for of a plan from nothing and the trainer of `options` does not run: tables
/// in host memory, and row shards, where `row_splits` of the caller says them.
void warn_of_target(const neuroshard_planner& planner, const Cluster& cluster,
                    std::int32_t row_splits, const PlanOptions& options);

/// Of hot rows that nothing comes of: the algorithm, the cost models or the trainer of `options`
/// know none. Or of memory for them, where none are asked for.
void warn_of_hot_rows(const neuroshard_planner& planner, const PlanOptions& options,
                      bool memory_given);

/// How a search ended.
void log_result(const neuroshard_planner& planner, const PlanResult& result);

}  // namespace neuroshard::api
