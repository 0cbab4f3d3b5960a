#include "engine/planner/memory_limits.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"

namespace neuroshard {
namespace {

/// kInfeasible where one of them holds more than they have.
Status check_fullest(const std::string& what, const std::vector<std::int64_t>& bytes,
                     std::int64_t memory_bytes) {
  const auto fullest = std::max_element(bytes.begin(), bytes.end());
  if (fullest == bytes.end() || *fullest <= memory_bytes) return {};
  return infeasible(what + " " + std::to_string(fullest - bytes.begin()) + " holds " +
                    format_bytes_apart(*fullest, memory_bytes) + ", " + what + "s have " +
                    format_bytes_apart(memory_bytes, *fullest) + ": this plan needs at least " +
                    format_bytes_at_least(*fullest) + " of memory per " + what);
}

}  // namespace

Status check_memory(const Workload& workload, const Plan& plan, std::int64_t memory_bytes,
                    StepBuffers buffers) {
  return check_fullest("device", device_bytes(workload, plan, buffers), memory_bytes);
}

Status check_host_memory(const Workload& workload, const Plan& plan, std::int32_t devices_per_host,
                         std::int64_t memory_bytes) {
  const std::int32_t each = devices_per_host == 0 ? plan.devices : devices_per_host;
  return check_fullest("host", host_bytes(workload, plan, each), memory_bytes);
}

}  // namespace neuroshard
