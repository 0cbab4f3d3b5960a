#include "engine/planner/offload/offload_refusals.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"
#include "search/feasibility.h"

namespace neuroshard {
namespace {

std::string devices_of(const Cluster& cluster) {
  return counted(cluster.devices, "device") + " of " + format_bytes(cluster.memory_bytes);
}

/// What tables are to be shared between.
std::string memories(const Cluster& cluster, const Hosts& hosts) {
  return devices_of(cluster) + " and " + counted(hosts.count, "host") + " with " +
         format_bytes(hosts.memory_bytes) + " for tables";
}

/// No memory of hosts helps.
Status buffers_alone(double bytes, const Cluster& cluster) {
  const auto least = static_cast<std::int64_t>(bytes / cluster.devices) + 1;
  return infeasible("the buffers of a step need " + format_bytes(static_cast<std::int64_t>(bytes)) +
                    ", more than " + devices_of(cluster) + " hold: needs at least " +
                    format_bytes_at_least(least) + " of memory per device");
}

}  // namespace

Status no_way_to_share(const Workload& workload, const Cluster& cluster, const Hosts& hosts) {
  return infeasible("found no way to share tables of " +
                    describe_bytes(workload, step_memory(workload, cluster)) + " between " +
                    memories(cluster, hosts) + ": more of either may do");
}

Status too_little_memory(const Workload& workload, const Cluster& cluster, const Hosts& hosts) {
  constexpr double kMostBytes = 9e18;
  const double devices = static_cast<double>(cluster.memory_bytes) * cluster.devices;
  const StepMemory step = step_memory(workload, cluster);
  double all = 0;
  double buffers = 0;  // stay on the devices
  for (const Table& table : workload.tables) {
    all += static_cast<double>(table_bytes(table, step));
    buffers +=
        static_cast<double>(buffer_bytes(table, {.rows = table.rows, .dim = table.dim}, step));
  }
  if (buffers > devices) return buffers_alone(buffers, cluster);
  const double missing = (all - devices) / hosts.count;
  if (missing <= static_cast<double>(hosts.memory_bytes)) {
    return no_way_to_share(workload, cluster, hosts);
  }
  const auto least = static_cast<std::int64_t>(std::min(missing, kMostBytes));
  return infeasible("the tables need " + describe_bytes(workload, step_memory(workload, cluster)) +
                    ", more than " + memories(cluster, hosts) + " hold: needs at least " +
                    format_bytes_at_least(least) + " of memory per host for tables");
}

Status no_arrangement_over_hosts(const Hosts& hosts) {
  return infeasible("no arrangement found that keeps to " + format_bytes(hosts.memory_bytes) +
                    " of memory on each of " + std::to_string(hosts.count) +
                    " hosts: more of it may do");
}

}  // namespace neuroshard
