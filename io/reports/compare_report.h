#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/cost_error.h"
#include "engine/core/exchange_format.h"
#include "engine/core/plan.h"

namespace neuroshard::io {

/// What one algorithm found for one task. Infeasible: no cost, no plan.
struct CompareResult {
  bool feasible = false;
  double seconds = 0;  ///< the search alone
  Plan plan;           ///< Shard::table is the position in the task's line
  PlanCost cost;
  std::optional<CostError> cost_error{};
  std::string skipped{};  ///< what the time limit left no room for, in words; empty: nothing
  std::string refusal{};  ///< why the algorithm does not take the task; not in the file
};

struct CompareTask {
  std::int64_t index = 0;   ///< line of the task file, from 0
  std::int64_t tables = 0;  ///< tables in the task
  std::map<std::string, CompareResult> results;
  ExchangeFormat exchange{};  ///< of all its plans
};

/// Every algorithm on every task, as `neuroshard compare` reports it.
struct CompareReport {
  std::int32_t devices = 0;
  std::string cost_model;
  std::string hardware;                 ///< what the costs are of, free text
  std::string cost_provenance;          ///< "measured" or "simulated"
  std::vector<std::string> algorithms;  ///< the order of results and summary
  std::vector<CompareTask> tasks;
};

/// One algorithm over all tasks: means of the cost over its feasible tasks (none: no mean) and of
/// the search time over all tasks.
struct CompareSummary {
  std::int64_t feasible_tasks = 0;
  std::optional<double> mean_cost_ms;
  std::optional<double> mean_seconds;
};
CompareSummary summarize(const CompareReport& report, const std::string& algorithm);

/// DESIGN section 8 text. An infeasible result has cost_ms null and empty shards and per_device; an
/// algorithm without a result for a task is left out there. Deterministic.
std::string format_compare(const CompareReport& report);

}  // namespace neuroshard::io
