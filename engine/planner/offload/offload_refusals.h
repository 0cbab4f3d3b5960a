#pragma once

#include "engine/core/cluster.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/planner/offload/host_pins.h"

// What is said, all of it kInfeasible, where no plan with tables in host memory is found.

namespace neuroshard {

/// No way was found to share the tables between devices and hosts; there may be one.
Status no_way_to_share(const Workload& workload, const Cluster& cluster, const Hosts& hosts);

/// No choice of kernels keeps the limits of devices and hosts, each taken together.
Status too_little_memory(const Workload& workload, const Cluster& cluster, const Hosts& hosts);

/// All hosts together have memory for the tables, but one of them has too much.
Status no_arrangement_over_hosts(const Hosts& hosts);

}  // namespace neuroshard
