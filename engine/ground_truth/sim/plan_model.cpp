#include "engine/ground_truth/sim/plan_model.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/hot_rows.h"
#include "engine/core/interconnect.h"
#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/ground_truth/requests/request.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/compute_model.h"
#include "engine/ground_truth/sim/plan_loads.h"

namespace neuroshard {
namespace {

/// Of the others, passes over rows and norms are not simulated.
Status check_optimizer(Optimizer optimizer, const std::string& where) {
  switch (optimizer) {
    case Optimizer::kSgd:
    case Optimizer::kRowwiseAdagrad:
    case Optimizer::kAdagrad:
    case Optimizer::kAdam:
    case Optimizer::kPartialRowwiseAdam:
      return {};
    default:
      return invalid_input(where + ": optimizer is " + std::string(to_string(optimizer)) +
                           ", expected sgd, rowwise_adagrad, adagrad, adam or "
                           "partial_rowwise_adam: others are not simulated");
  }
}

void add_memory_and_dims(const Workload& workload, const Plan& plan, PlanCost& cost) {
  cost.per_device.resize(static_cast<std::size_t>(plan.devices));
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  const std::vector<std::int64_t> columns = columns_of_devices(plan);
  for (std::size_t d = 0; d < bytes.size(); ++d) {
    cost.per_device[d].memory_bytes = bytes[d];
    cost.per_device[d].dim_sum = columns[d];
  }
}

void simulate_exchanges(const ChosenProfile& hardware, const PlanLoads& loads,
                        std::int64_t batch_size, const ExchangeFormat& format, PlanCost& cost) {
  const InterconnectProfile& link = hardware.interconnect;
  const auto exchange = [&](const std::vector<double>& starts) {
    return simulate_exchange(hardware.profile, link, loads.exchange, starts, batch_size, format);
  };
  std::vector<double> starts(cost.per_device.size(), 0.0);
  const CommTime together = exchange(starts);
  const auto devices = static_cast<std::int32_t>(starts.size());
  const double reduce = all_reduce_ms(link, devices, loads.reduced_bytes);
  for (std::size_t d = 0; d < starts.size(); ++d) {
    // A device comes to the forward exchange when its lookups and the backward one are done, and
    // there waits for the others: only differences of these times count.
    cost.per_device[d].backward_comm_ms = together.backward_ms[d] + reduce;
    starts[d] = cost.per_device[d].compute_ms + cost.per_device[d].backward_comm_ms;
  }
  const double earliest = *std::min_element(starts.begin(), starts.end());
  for (double& start : starts) start -= earliest;
  const CommTime staggered = exchange(starts);
  const auto samples = static_cast<double>(samples_of_device(batch_size, devices, 0));
  const double merge = merge_ms(samples * loads.merged_values, hardware.profile.dram_gbps.value);
  for (std::size_t d = 0; d < starts.size(); ++d) {
    cost.per_device[d].forward_comm_ms = staggered.forward_ms[d] + merge;
    cost.cost_ms = std::max(cost.cost_ms, cost.per_device[d].total_ms());
  }
}

}  // namespace

Status check_simulated(const ChosenProfile& hardware, const Workload& workload, const Plan& plan) {
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(workload, plan));
  NEUROSHARD_RETURN_IF_ERROR(
      check_none_offloaded(plan, "simulated devices have all weights in their memory"));
  for (std::size_t i = 0; i < workload.tables.size(); ++i) {
    NEUROSHARD_RETURN_IF_ERROR(check_optimizer(
        workload.tables[i].optimizer, table_label(workload, static_cast<std::int32_t>(i))));
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

std::string describe(const ChosenProfile& hardware) {
  return hardware.profile.name + ", " + hardware.interconnect.name + " (simulated)";
}

bool between_hosts(ChosenProfile& hardware, std::int32_t devices) {
  if (!hardware.own_links) return false;
  if (hardware.interconnect.devices_per_host.value > 0) return false;
  for (const InterconnectProfile& link : hardware.profile.interconnects) {
    if (link.name != "cluster") continue;
    if (devices <= static_cast<std::int32_t>(link.devices_per_host.value)) return false;
    hardware.interconnect = link;
    return true;
  }
  return false;
}

std::int32_t devices_on_a_host(const ChosenProfile& hardware, std::int32_t devices) {
  const auto each = static_cast<std::int32_t>(hardware.interconnect.devices_per_host.value);
  return each == 0 ? devices : std::min(each, devices);
}

bool is_calibrated(const ChosenProfile& hardware) {
  if (!hardware.own_links) return false;
  const HardwareProfile& profile = hardware.profile;
  std::vector<const SourcedValue*> constants{&profile.gather_share,
                                             &profile.l2_gbps,
                                             &profile.l2_usable_share,
                                             &profile.forward_cycles_per_lookup,
                                             &profile.forward_cycles_per_bag,
                                             &profile.forward_cycles_per_l1_lookup,
                                             &profile.forward_cycles_per_miss,
                                             &profile.backward_cycles_per_lookup,
                                             &profile.backward_cycles_per_row,
                                             &profile.backward_cycles_per_long_row,
                                             &profile.backward_cycles_per_miss,
                                             &profile.forward_cycles_per_sequence_row,
                                             &profile.lane_exponent,
                                             &profile.overlap_exponent};
  for (const InterconnectProfile& link : profile.interconnects) {
    constants.insert(constants.end(),
                     {&link.intra_host_gbps, &link.intra_host_latency_us, &link.inter_host_gbps,
                      &link.inter_host_latency_us, &link.inter_host_small_gbps});
  }
  // As scripts/calibrate_profiles.py calls what it has fitted.
  return std::any_of(constants.begin(), constants.end(), [](const SourcedValue* constant) {
    return constant->source.starts_with("calibrated: ");
  });
}

Result<ChosenProfile> with_hosts(ChosenProfile hardware, std::int32_t devices_per_host,
                                 std::int32_t devices) {
  InterconnectProfile& link = hardware.interconnect;
  if (devices_per_host > devices) {
    return invalid_input("devices per host: found " + std::to_string(devices_per_host) +
                         ", expected at most the " + std::to_string(devices) +
                         " devices that there are");
  }
  if (link.devices_per_host.value == 0) {
    if (devices_per_host == devices) return hardware;
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
                                      const Plan& plan, const ExchangeFormat& format) {
  NEUROSHARD_RETURN_IF_ERROR(check_simulated(hardware, workload, plan));
  PlanMeasurement measurement;
  measurement.comm_measured = true;
  measurement.at_once = true;
  add_memory_and_dims(workload, plan, measurement.cost);
  const PlanLoads loads = plan_loads(workload, plan, devices_on_a_host(hardware, plan.devices));
  for (std::size_t d = 0; d < loads.lookups.size(); ++d) {
    const ComputeTime time =
        simulate_compute(hardware.profile, loads.lookups[d], workload.batch_size);
    measurement.compute.push_back(time);
    measurement.cost.per_device[d].compute_ms = time.total_ms;
  }
  simulate_exchanges(hardware, loads, workload.batch_size, format, measurement.cost);
  return measurement;
}

}  // namespace neuroshard
