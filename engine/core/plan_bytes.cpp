#include "engine/core/plan_bytes.h"

#include <cstddef>

#include "engine/core/hot_rows.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"

namespace neuroshard {
namespace {

/// What `bytes_of` says of each shard's table and shape.
template <typename BytesOf>
std::vector<std::int64_t> bytes_by_device(const Workload& workload, const Plan& plan,
                                          const BytesOf& bytes_of) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(plan.devices), 0);
  for (const Shard& shard : plan.shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    const std::int64_t size = bytes_of(table, shape_of(shard));
    if (shard.device == kEveryDevice) {
      for (std::int64_t& device : bytes) device += size;
    } else {
      bytes[static_cast<std::size_t>(shard.device)] += size;
    }
  }
  return bytes;
}

}  // namespace

std::vector<std::int64_t> device_bytes(const Workload& workload, const Plan& plan,
                                       StepBuffers buffers) {
  const StepMemory step{buffers, workload.batch_size, plan.devices};
  std::vector<std::int64_t> bytes =
      bytes_by_device(workload, plan, [&](const Table& table, const ShardShape& shape) {
        return bytes_on_device(table, shape, step);
      });
  for (const HotRows& hot : hot_rows(plan)) {
    const Table& table = workload.tables[static_cast<std::size_t>(hot.table)];
    const std::int64_t everywhere = hot_row_bytes(table, hot.rows, step);
    for (std::int64_t& device : bytes) device += everywhere;
  }
  return bytes;
}

std::vector<std::int64_t> device_host_bytes(const Workload& workload, const Plan& plan) {
  return bytes_by_device(workload, plan, bytes_on_host);
}

void set_bytes(const Workload& workload, const Plan& plan, StepBuffers buffers, PlanCost& cost) {
  const std::vector<std::int64_t> on_devices = device_bytes(workload, plan, buffers);
  const std::vector<std::int64_t> on_hosts = device_host_bytes(workload, plan);
  for (std::size_t device = 0; device < cost.per_device.size(); ++device) {
    cost.per_device[device].memory_bytes = on_devices[device];
    cost.per_device[device].host_bytes = on_hosts[device];
  }
}

std::vector<std::int64_t> host_bytes(const Workload& workload, const Plan& plan,
                                     std::int32_t devices_per_host) {
  const std::vector<std::int64_t> of_devices = device_host_bytes(workload, plan);
  std::vector<std::int64_t> bytes;
  for (std::size_t device = 0; device < of_devices.size(); ++device) {
    if (device % static_cast<std::size_t>(devices_per_host) == 0) bytes.push_back(0);
    bytes.back() += of_devices[device];
  }
  return bytes;
}

}  // namespace neuroshard
