#pragma once

#include <vector>

#include "engine/core/offload.h"
#include "engine/core/plan.h"

namespace neuroshard::test {

/// Gives the shards of those tables their kernels, and all others the fused one.
inline void set_offloaded(Plan& plan, const std::vector<OffloadedTable>& tables) {
  for (Shard& shard : plan.shards) {
    shard.kernel = {};
    for (const OffloadedTable& own : tables) {
      if (own.table == shard.table) shard.kernel = own.kernel;
    }
  }
}

/// The plan with those tables in host memory alone.
inline Plan with_offloaded(Plan plan, const std::vector<OffloadedTable>& tables) {
  set_offloaded(plan, tables);
  return plan;
}

}  // namespace neuroshard::test
