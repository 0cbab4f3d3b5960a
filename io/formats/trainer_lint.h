#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/table.h"
#include "io/plans/plan_binding.h"
#include "io/plans/plan_tables.h"

// What lint_plan() asks of a trainer: whether it would run a plan, whichever trainer's the file is.

namespace neuroshard::io {

/// A plan whose every cell is held once, on a device. All outlives the question.
struct LintedPlan {
  const PlanInput& input;
  const PlanPieces& pieces;
  const Workload& workload;     ///< with the plan's kernels
  const ShardsByTable& shards;  ///< of the plan
  std::int32_t devices;
  std::int32_t devices_per_host;  ///< 0 = the usual
};

/// Of each table of the workload, a line each.
using TableFaults = std::vector<std::vector<std::string>>;

struct TrainerLint {
  /// What is wrong with the placements of a file of the trainer's own; `devices_per_host` as it was
  /// asked for: 0 = the file's. Null: its files have none.
  std::vector<std::string> (*places)(const PlanInput&, const TrainerPlaces&,
                                     std::int32_t devices_per_host) = nullptr;
  /// Why it would not run tables, but those that the pieces call unusable.
  TableFaults (*tables)(const LintedPlan&) = nullptr;
  /// Whether the trainer can be told of exchanges in other numbers than fp32.
  bool takes_exchange = true;
};

/// By torchrec_rules.cpp and torchrec_places.cpp.
extern const TrainerLint kTorchRecLint;
/// By hugectr_rules.cpp.
extern const TrainerLint kHugeCtrLint;

}  // namespace neuroshard::io
