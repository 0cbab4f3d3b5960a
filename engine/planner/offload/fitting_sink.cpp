#include "engine/planner/offload/fitting_sink.h"

#include "engine/planner/memory_limits.h"

namespace neuroshard {

bool FittingSink::wants(double cost_ms) const { return sink_.wants(cost_ms); }

void FittingSink::offer(const Plan& plan, double cost_ms) {
  if (fits_hosts(workload_, hosts_, plan)) sink_.offer(plan, cost_ms);
}

bool fits_hosts(const Workload& workload, const Hosts& hosts, const Plan& plan) {
  return check_host_memory(workload, plan, hosts.devices_each, hosts.memory_bytes).ok();
}

}  // namespace neuroshard
