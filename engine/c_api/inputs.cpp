#include "engine/c_api/inputs.h"

#include <string>

#include "engine/c_api/boundary.h"

namespace neuroshard::c_api {

Result<GivenCluster> read_cluster(const neuroshard_cluster* given) {
  NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_cluster local, read_struct(given, "cluster"));
  Cluster cluster;
  cluster.devices = local.devices;
  cluster.memory_bytes = local.memory_bytes;
  NEUROSHARD_RETURN_IF_ERROR(validate(cluster).with_context("cluster"));
  const std::int32_t per_host = local.devices_per_host;
  const bool whole = per_host == 0 || (per_host > 0 && local.devices % per_host == 0);
  if (!whole) {
    return invalid_input("cluster.devices_per_host: found " + std::to_string(per_host) +
                         ", expected a divisor of " + std::to_string(local.devices) +
                         " devices, or 0");
  }
  return GivenCluster{cluster, per_host};
}

Status check_same_batch(const neuroshard_workload& workload, const neuroshard_plan& plan) {
  if (workload.workload.batch_size == plan.document.batch_size) return {};
  return invalid_input("plan: found one for batch size " +
                       std::to_string(plan.document.batch_size) + ", expected the workload's " +
                       std::to_string(workload.workload.batch_size));
}

}  // namespace neuroshard::c_api
