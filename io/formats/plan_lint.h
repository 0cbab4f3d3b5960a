#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/step_buffers.h"
#include "engine/core/table.h"
#include "io/plans/plan_input.h"

namespace neuroshard::io {

/// What to hold a plan against.
struct PlanRules {
  std::int32_t devices = 0;              ///< as for bind_plan()
  std::int32_t devices_per_host = 0;     ///< 0 = the file's, or the usual (core host_devices())
  std::int64_t memory_limit = 0;         ///< per device; 0 = any
  std::int64_t host_memory_limit = 0;    ///< per host, of tables there; 0 = any
  std::optional<StepBuffers> buffers{};  ///< that count as memory; nothing = the file's
  std::string target{};  ///< one of lint_targets(): must run there; "" = as the file's format says
};

/// One thing that is wrong with a plan.
struct PlanFault {
  bool memory = false;  ///< too much on a device or host; all else makes the plan unusable anywhere
  std::string text;     ///< one line
};

/// The formats whose trainers lint_plan() has rules of.
std::vector<std::string> lint_targets();

/// Every fault of a plan: cells that no shard or two shards hold, unknown tables and devices,
/// devices and hosts beyond their limits (but for tables of uncounted_memory()), the
/// rules of the format it is written in or meant for, and tables in a way that their sharding does
/// not allow. Empty for a good plan. Errors: kInvalidInput for rules that make no sense (an unknown
/// target or an unknown number of devices). Cost: O(n log n) in shards.
Result<std::vector<PlanFault>> lint_plan(const PlanInput& input, const Workload& workload,
                                         const PlanRules& rules);

/// How many of the plan's tables lint_plan() does not count in device memory and why, for people;
/// "" where all are: tables with a kernel of TorchRec's that keeps rows elsewhere are not, but
/// those with fused_uvm, or with fused_uvm_caching and the size of the cache.
std::string uncounted_memory(const PlanInput& input);

}  // namespace neuroshard::io
