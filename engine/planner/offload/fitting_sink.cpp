#include "engine/planner/offload/fitting_sink.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/core/plan_bytes.h"

namespace neuroshard {

bool FittingSink::wants(double cost_ms) const { return sink_ != nullptr && sink_->wants(cost_ms); }

void FittingSink::offer(const Plan& plan, double cost_ms) {
  if (sink_ == nullptr || beyond_hosts(workload_, hosts_, plan)) return;
  sink_->offer(plan, cost_ms);
}

bool beyond_hosts(const Workload& workload, const Hosts& hosts, const Plan& plan) {
  const std::vector<std::int64_t> bytes = host_bytes(workload, plan, hosts.devices_each);
  return *std::max_element(bytes.begin(), bytes.end()) > hosts.memory_bytes;
}

}  // namespace neuroshard
