#include "engine/ground_truth/sim/plan_model.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/cluster.h"
#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/ground_truth/request.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/compute_model.h"
#include "engine/ground_truth/sim/row_skew.h"
#include "engine/ground_truth/sim/shard_load.h"

namespace neuroshard {
namespace {

Status check_simulated(const ChosenProfile& hardware, const Workload& workload, const Plan& plan) {
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(workload, plan));
  NEUROSHARD_RETURN_IF_ERROR(
      check_none_offloaded(plan, "simulated devices have all weights in their memory"));
  for (std::size_t i = 0; i < workload.tables.size(); ++i) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_has_kernels(workload.tables[i], table_label(workload, static_cast<std::int32_t>(i))));
  }
  const auto memory = static_cast<std::int64_t>(hardware.profile.memory_gib.value * 0x1p30);
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  for (std::size_t device = 0; device < bytes.size(); ++device) {
    if (bytes[device] <= memory) continue;
    return invalid_input("device " + std::to_string(device) + " holds " +
                         format_bytes(bytes[device]) + ", expected at most the " +
                         format_bytes(memory) + " of " + hardware.profile.name);
  }
  return {};
}

bool is_replica(const Shard& shard) { return shard.device == kEveryDevice; }

std::int64_t rows_of(const Workload& workload, const Shard& shard) {
  return workload.tables[static_cast<std::size_t>(shard.table)].rows;
}

RowUse whole_use(const Workload& workload, const Shard& shard) {
  return shard_load(workload, whole_table(workload, shard.table, 0)).use;
}

/// Has a shard's rows looked up `skew` times as often.
void heat(double skew, ShardLoad& load) {
  load.lookups *= skew;
  load.distinct = std::min(load.distinct, load.lookups);
  for (double& count : load.use.count) count *= skew;
}

/// What every device looks up of its shards. Which of a table's even row blocks is the hottest is
/// not known: the order of their expected loads begins at another block for every table, so that
/// the hottest do not all meet on one device.
void add_shard_loads(const Workload& workload, const Plan& plan,
                     std::vector<std::vector<ShardLoad>>& loads) {
  const std::vector<ShardShape> shapes = shapes_of(plan);
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    const Shard& shard = plan.shards[i];
    if (is_replica(shard)) continue;
    ShardLoad load = shard_load(workload, shard);
    if (const std::int32_t blocks = shapes[i].row_blocks; blocks > 1) {
      const std::vector<double> skews = block_skews(whole_use(workload, shard), blocks);
      const std::int64_t block = shard.row_begin / block_rows(rows_of(workload, shard), blocks);
      heat(skews[static_cast<std::size_t>((block + shard.table) % blocks)], load);
    }
    loads[static_cast<std::size_t>(shard.device)].push_back(load);
  }
}

void add_replica_loads(const Workload& workload, const Plan& plan,
                       std::vector<std::vector<ShardLoad>>& loads) {
  for (const Shard& shard : plan.shards) {
    if (!is_replica(shard)) continue;
    for (std::int32_t device = 0; device < plan.devices; ++device) {
      loads[static_cast<std::size_t>(device)].push_back(replica_load(
          workload, shard.table, samples_of_device(workload.batch_size, plan.devices, device)));
    }
  }
}

ExchangeColumns columns_of(const Workload& workload, const Plan& plan) {
  const auto devices = static_cast<std::size_t>(plan.devices);
  ExchangeColumns columns{std::vector<std::int64_t>(devices), std::vector<std::int64_t>(devices)};
  const std::vector<ShardShape> shapes = shapes_of(plan);
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    const Shard& shard = plan.shards[i];
    if (is_replica(shard)) continue;
    const bool partial = has_part_of_rows(workload, shard) && shapes[i].row_blocks > 0;
    (partial ? columns.partial : columns.pooled)[static_cast<std::size_t>(shard.device)] +=
        shard.dim();
  }
  return columns;
}

/// Of all tables that every device holds, in one collective.
double all_reduce_ms(const InterconnectProfile& link, const Plan& plan) {
  constexpr double kGradientBytes = 4;
  double bytes = 0;
  for (const Shard& shard : plan.shards) {
    if (!is_replica(shard)) continue;
    bytes += static_cast<double>(shard.rows()) * shard.dim() * kGradientBytes;
  }
  return simulate_all_reduce(link, plan.devices, bytes);
}

void add_memory_and_dims(const Workload& workload, const Plan& plan, PlanCost& cost) {
  cost.per_device.resize(static_cast<std::size_t>(plan.devices));
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  for (std::size_t d = 0; d < bytes.size(); ++d) cost.per_device[d].memory_bytes = bytes[d];
  for (const Shard& shard : plan.shards) {
    const std::int32_t first = is_replica(shard) ? 0 : shard.device;
    const std::int32_t last = is_replica(shard) ? plan.devices - 1 : shard.device;
    for (std::int32_t d = first; d <= last; ++d) {
      cost.per_device[static_cast<std::size_t>(d)].dim_sum += shard.dim();
    }
  }
}

void simulate_exchanges(const ChosenProfile& hardware, const Workload& workload, const Plan& plan,
                        PlanCost& cost) {
  const InterconnectProfile& link = hardware.interconnect;
  const ExchangeColumns columns = columns_of(workload, plan);
  std::vector<double> starts(cost.per_device.size(), 0.0);
  const CommTime together =
      simulate_exchange(hardware.profile, link, columns, starts, workload.batch_size);
  const double reduce = all_reduce_ms(link, plan);
  for (std::size_t d = 0; d < starts.size(); ++d) {
    cost.per_device[d].backward_comm_ms = together.backward_ms[d] + reduce;
    starts[d] = cost.per_device[d].compute_ms + cost.per_device[d].backward_comm_ms;
  }
  const double earliest = *std::min_element(starts.begin(), starts.end());
  for (double& start : starts) start -= earliest;
  const CommTime staggered =
      simulate_exchange(hardware.profile, link, columns, starts, workload.batch_size);
  for (std::size_t d = 0; d < starts.size(); ++d) {
    cost.per_device[d].forward_comm_ms = staggered.forward_ms[d];
    cost.cost_ms = std::max(cost.cost_ms, cost.per_device[d].total_ms());
  }
}

}  // namespace

std::string describe(const ChosenProfile& hardware) {
  return hardware.profile.name + ", " + hardware.interconnect.name + " (simulated)";
}

Result<ChosenProfile> with_hosts(ChosenProfile hardware, std::int32_t devices_per_host,
                                 std::int32_t devices) {
  InterconnectProfile& link = hardware.interconnect;
  if (link.devices_per_host.value == 0) {
    if (devices_per_host >= devices) return hardware;
    return invalid_input("devices per host: found " + std::to_string(devices_per_host) + " for " +
                         std::to_string(devices) + " devices on " + hardware.profile.name + "+" +
                         link.name + ", expected links between hosts, such as " +
                         hardware.profile.name + "+cluster");
  }
  if (devices > devices_per_host && devices % devices_per_host != 0) {
    return invalid_input("devices per host: found " + std::to_string(devices_per_host) +
                         ", expected a divisor of " + std::to_string(devices) + " devices");
  }
  link.devices_per_host = {static_cast<double>(devices_per_host), "given for this plan"};
  return hardware;
}

Result<PlanMeasurement> simulate_plan(const ChosenProfile& hardware, const Workload& workload,
                                      const Plan& plan) {
  NEUROSHARD_RETURN_IF_ERROR(check_simulated(hardware, workload, plan));
  PlanMeasurement measurement;
  measurement.comm_measured = true;
  measurement.at_once = true;
  add_memory_and_dims(workload, plan, measurement.cost);
  std::vector<std::vector<ShardLoad>> loads(static_cast<std::size_t>(plan.devices));
  add_shard_loads(workload, plan, loads);
  add_replica_loads(workload, plan, loads);
  for (std::size_t d = 0; d < loads.size(); ++d) {
    const ComputeTime time = simulate_compute(hardware.profile, loads[d], workload.batch_size);
    measurement.compute.push_back(time);
    measurement.cost.per_device[d].compute_ms = time.total_ms;
  }
  simulate_exchanges(hardware, workload, plan, measurement.cost);
  return measurement;
}

}  // namespace neuroshard
