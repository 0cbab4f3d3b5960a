#pragma once

#include <string>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// Every shard inside its table and on one of plan.devices (or kEveryDevice and whole), every cell
/// of every table in exactly one shard, all shards of a table with one valid kernel, which reads no
/// host memory where every device holds the table. The message names the shard by index, or the
/// table and its first cell in no shard, or a rectangle that overlaps another. Cost: O(n log n) in
/// shards.
Status validate(const Workload& workload, const Plan& plan);

/// What messages call each shard and each table; without names: "shards[3]", "table 2". A plan may
/// have more shards than there are names, as one whose missing tables are filled in does.
struct PlanNames {
  std::vector<std::string> shards;
  std::vector<std::string> tables;
};

/// Everything that validate() would refuse, not just the first: shards in the plan's order, then
/// tables whose shards overlap or leave cells out. Empty for a valid plan.
std::vector<Status> find_faults(const Workload& workload, const Plan& plan,
                                const PlanNames& names = {});

}  // namespace neuroshard
