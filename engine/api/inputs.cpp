#include "engine/api/inputs.h"

#include <optional>
#include <string>

#include "engine/api/boundary.h"

namespace neuroshard::api {
namespace {

Result<std::optional<StepBuffers>> read_buffers(std::int32_t given) {
  if (given == NEUROSHARD_BUFFERS_DEFAULT) return std::optional<StepBuffers>();
  for (const StepBuffers buffers : all_step_buffers()) {
    if (number_of(buffers) == given) return std::optional(buffers);
  }
  return invalid_input("cluster.buffers: found " + std::to_string(given) +
                       ", expected 0 to 4 (NEUROSHARD_BUFFERS_..)");
}

Result<Precision> read_precision(std::int32_t given, const std::string& field) {
  for (const Precision precision : all_precisions()) {
    if (number_of(precision) == given) return precision;
  }
  return invalid_input("cluster." + field + ": found " + std::to_string(given) +
                       ", expected 0 to 6 (NEUROSHARD_EXCHANGE_..), AUTO alone and forward");
}

Status read_exchange(const neuroshard_cluster& local, GivenCluster& given) {
  const std::int32_t forward = local.exchange_forward;
  const std::int32_t backward = local.exchange_backward;
  given.any_exchange = forward == NEUROSHARD_EXCHANGE_AUTO && backward == 0;
  given.says_exchange = forward != 0 || backward != 0;
  if (given.any_exchange || !given.says_exchange) return {};
  ExchangeFormat& format = given.devices.exchange;
  NEUROSHARD_ASSIGN_OR_RETURN(format.forward, read_precision(forward, "exchange_forward"));
  format.backward = format.forward;
  if (backward == 0) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(format.backward, read_precision(backward, "exchange_backward"));
  return {};
}

}  // namespace

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
  if (local.host_memory_bytes < 0) {
    return invalid_input("cluster.host_memory_bytes: found " +
                         std::to_string(local.host_memory_bytes) + ", expected 0 or more");
  }
  NEUROSHARD_RETURN_IF_ERROR(require_zero(local.reserved, "cluster.reserved"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::optional<StepBuffers> buffers,
                              read_buffers(local.buffers));
  cluster.host_memory_bytes = local.host_memory_bytes;
  cluster.buffers = buffers.value_or(StepBuffers::kOff);
  cluster.devices_per_host = per_host;
  GivenCluster read{cluster, buffers.has_value()};
  NEUROSHARD_RETURN_IF_ERROR(read_exchange(local, read));
  return read;
}

Cluster GivenCluster::like(const io::PlanDocument& plan) const {
  Cluster cluster = devices;
  if (!says_buffers) cluster.buffers = plan.buffers;
  if (!says_exchange) cluster.exchange = plan.exchange;
  if (cluster.devices_per_host == 0) cluster.devices_per_host = plan.places.devices_per_host;
  return cluster;
}

std::int32_t number_of(StepBuffers buffers) {
  return static_cast<std::int32_t>(buffers) + NEUROSHARD_BUFFERS_OFF;
}

std::int32_t number_of(Precision precision) {
  return static_cast<std::int32_t>(precision) + NEUROSHARD_EXCHANGE_FP32;
}

Status check_one_exchange(const GivenCluster& cluster) {
  if (!cluster.any_exchange) return {};
  return invalid_input("cluster.exchange_forward: found AUTO, expected a format here");
}

Status check_same_batch(const neuroshard_workload& workload, const neuroshard_plan& plan) {
  if (workload.workload.batch_size == plan.document.batch_size) return {};
  return invalid_input("plan: found one for batch size " +
                       std::to_string(plan.document.batch_size) + ", expected the workload's " +
                       std::to_string(workload.workload.batch_size));
}

Status check_same_devices(const GivenCluster& cluster, const neuroshard_plan& plan) {
  const std::int32_t own = plan.document.plan.devices;
  if (own == cluster.devices.devices) return {};
  return invalid_input("plan: found one for " + std::to_string(own) + " devices, expected " +
                       std::to_string(cluster.devices.devices));
}

Status check_index(std::size_t index, std::size_t count) {
  if (index < count) return {};
  return invalid_input("index: found " + std::to_string(index) + ", expected less than " +
                       std::to_string(count));
}

}  // namespace neuroshard::api
