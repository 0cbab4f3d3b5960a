#include "engine/core/cluster.h"

#include <string>

namespace neuroshard {

Status validate(const Cluster& cluster) {
  if (cluster.devices < 1 || cluster.devices > kMaxDevices) {
    return invalid_input("devices is " + std::to_string(cluster.devices) + ", expected 1 to " +
                         std::to_string(kMaxDevices));
  }
  if (cluster.memory_bytes < 1) {
    return invalid_input("device memory is " + std::to_string(cluster.memory_bytes) +
                         " bytes, expected at least 1");
  }
  if (cluster.host_memory_bytes < 0) {
    return invalid_input("host memory: found " + std::to_string(cluster.host_memory_bytes) +
                         " bytes, expected 0 (none) or more");
  }
  if (cluster.devices_per_host < 0) {
    return invalid_input("devices per host: found " + std::to_string(cluster.devices_per_host) +
                         ", expected 0 (the usual) or more");
  }
  return {};
}

}  // namespace neuroshard
