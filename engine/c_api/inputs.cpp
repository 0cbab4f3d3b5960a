#include "engine/c_api/inputs.h"

#include <string>

#include "engine/c_api/boundary.h"

namespace neuroshard::c_api {

Result<Cluster> read_cluster(const neuroshard_cluster* given) {
  NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_cluster local, read_struct(given, "cluster"));
  NEUROSHARD_RETURN_IF_ERROR(require_zero(local.reserved, "cluster.reserved"));
  Cluster cluster;
  cluster.devices = local.devices;
  cluster.memory_bytes = local.memory_bytes;
  NEUROSHARD_RETURN_IF_ERROR(validate(cluster).with_context("cluster"));
  return cluster;
}

Status check_same_batch(const neuroshard_workload& workload, const neuroshard_plan& plan) {
  if (workload.workload.batch_size == plan.document.batch_size) return {};
  return invalid_input("plan: found one for batch size " +
                       std::to_string(plan.document.batch_size) + ", expected the workload's " +
                       std::to_string(workload.workload.batch_size));
}

}  // namespace neuroshard::c_api
