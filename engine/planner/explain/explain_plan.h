#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/planner/explain/hot_gain.h"
#include "engine/planner/explain/other_layouts.h"

namespace neuroshard {

/// Another layout of one table, the rest of the plan as it is.
struct OtherLayout {
  TableLayout shards;
  double cost_ms = 0;  ///< of the plan then
};

/// What a table takes of a plan, and the next best thing to do with it.
struct TableExplanation {
  std::int32_t table = 0;
  TableLayout shards;      ///< in the order of plan files
  std::int64_t bytes = 0;  ///< of all shards on devices; a replica counts once
  double alone_ms = 0;     ///< of the dearest shard, on a device that holds nothing else
  /// By how much a shard's device takes less without it, the most of all: computing alone, or all
  /// of it where costs add up.
  double adds_ms = 0;
  std::int64_t considered = 0;           ///< other layouts that fit the memory
  std::optional<OtherLayout> next_best;  ///< the cheapest of those
  std::optional<HotGain> hot_rows{};     ///< of a table that has some
};

struct ExplainOptions {
  /// Only these, in their order; empty: the `most` with the dearest shards, from the dearest on.
  std::vector<std::int32_t> tables{};
  std::size_t most = 20;
  StepBuffers buffers = StepBuffers::kOff;  ///< that count as memory
  std::int32_t devices_per_host = 0;        ///< as in a Cluster
  ExchangeFormat exchange{};                ///< the same
  ProgressSink* progress = nullptr;
  const CancelToken* cancel = nullptr;
};

/// Tries other layouts (for_each_other_layout()) of tables of a plan under each device's memory
/// limit, not that of hosts; to other devices means the 16 that have least to do where there are
/// more. Errors: as simulate(); kInvalidInput for a table that is not there; kInfeasible for a plan
/// that itself does not fit; kCancelled. Cost: a plan's evaluation for each layout. Thread-safe.
Result<std::vector<TableExplanation>> explain_plan(const Workload& workload, const Plan& plan,
                                                   const CostModels& models,
                                                   std::int64_t memory_bytes,
                                                   const ExplainOptions& options);

/// What each shard of the plan, in canonical order, takes in milliseconds of computing on a device
/// that holds nothing else, with the hosts and exchanges of `cluster`, of which nothing else
/// counts. Errors: as simulate().
Result<std::vector<double>> shard_costs(const Workload& workload, const Plan& plan,
                                        const CostModels& models, const Cluster& cluster);

}  // namespace neuroshard
