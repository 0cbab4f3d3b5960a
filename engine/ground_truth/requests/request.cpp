#include "engine/ground_truth/requests/request.h"

#include <cmath>
#include <string>

#include "engine/core/bytes.h"
#include "engine/core/cluster.h"
#include "engine/core/shard_bytes.h"

namespace neuroshard {

Status check_has_optimizer(const Table& table, const std::string& where) {
  if (has_kernels(table.optimizer)) return {};
  return invalid_input(where + ": optimizer is " + std::string(to_string(table.optimizer)) +
                       ", expected sgd or rowwise_adagrad: there is no ground truth of others");
}

Status check_has_no_weights(const Table& table, const std::string& where) {
  if (!table.weighted) return {};
  return invalid_input(where +
                       " has lookups with weights, expected none: kernels here and cost data know "
                       "no others");
}

Status check_has_kernels(const Table& table, const std::string& where) {
  if (!table.pooled) {
    return invalid_input(where +
                         " has lookups that are not pooled, expected pooled ones: kernels here "
                         "know no others");
  }
  if (table.features > 1) {
    return invalid_input(where + " has " + std::to_string(table.features) +
                         " features, expected one feature: kernels here know no others");
  }
  NEUROSHARD_RETURN_IF_ERROR(check_has_no_weights(table, where));
  return check_has_optimizer(table, where);
}

Status check_shards(const Workload& workload, std::span<const Shard> shards,
                    std::int64_t limit_bytes, TableCheck check_table) {
  std::int64_t bytes = 0;
  for (const Shard& shard : shards) {
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    NEUROSHARD_RETURN_IF_ERROR(check_table(table, "table '" + table.name + "'"));
    if (__builtin_add_overflow(bytes, shard_bytes(workload, shape_of(shard), {}), &bytes) ||
        bytes > limit_bytes) {
      return invalid_input(std::to_string(shards.size()) + " shards need more than " +
                           format_bytes(limit_bytes) + ", the memory this backend has for tables");
    }
  }
  return {};
}

Status check_exchange(std::span<const std::int64_t> dims, std::span<const double> starts_ms,
                      std::int64_t batch_size) {
  if (dims.empty() || dims.size() > static_cast<std::size_t>(kMaxDevices)) {
    return invalid_input("an all-to-all of " + std::to_string(dims.size()) +
                         " devices, expected 1 to " + std::to_string(kMaxDevices));
  }
  if (starts_ms.size() != dims.size()) {
    return invalid_input(std::to_string(starts_ms.size()) + " start times for " +
                         std::to_string(dims.size()) + " devices");
  }
  for (std::size_t device = 0; device < dims.size(); ++device) {
    if (dims[device] < 0 || !std::isfinite(starts_ms[device]) || starts_ms[device] < 0) {
      return invalid_input("device " + std::to_string(device) + " has dim " +
                           std::to_string(dims[device]) + " and start " +
                           std::to_string(starts_ms[device]) + " ms, expected both at least 0");
    }
  }
  if (batch_size >= 1) return {};
  return invalid_input("batch_size is " + std::to_string(batch_size) + ", expected at least 1");
}

std::int64_t samples_of_device(std::int64_t batch_size, std::int64_t devices, std::int64_t device) {
  return batch_size / devices + (device < batch_size % devices ? 1 : 0);
}

}  // namespace neuroshard
