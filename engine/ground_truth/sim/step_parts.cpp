#include "engine/ground_truth/sim/step_parts.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "engine/core/interconnect.h"
#include "engine/ground_truth/requests/request.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/compute_model.h"
#include "engine/iteration/kernel_times.h"

namespace neuroshard {
namespace {

constexpr double kFeatureBytes = 4;    // of a dense feature, and of a sample's label
constexpr double kSimulatedBytes = 4;  // of a value as comm_model.h exchanges it

/// The values, each of which has so many bytes, as many as take as long to send in fp32.
ExchangeValues in_bytes(const ExchangeValues& values, double bytes) {
  ExchangeValues scaled = values;
  for (double& value : scaled.whole) value *= bytes / kSimulatedBytes;
  for (double& value : scaled.partial) value *= bytes / kSimulatedBytes;
  for (double& value : scaled.added_up) value *= bytes / kSimulatedBytes;
  return scaled;
}

double together_ms(const std::vector<double>& ms) {
  return *std::max_element(ms.begin(), ms.end());
}

void add_lookups(const ComputeTime& time, double sort_ms, EmbeddingStep& step) {
  step.lookup_forward_ms.push_back(time.forward_ms);
  step.lookup_backward_ms.push_back(time.backward_ms - sort_ms);
}

/// Replicas on their own, and what sorts rows.
void add_lookups_apart(const HardwareProfile& profile, std::vector<ShardLoad> lookups,
                       std::int64_t batch_size, EmbeddingStep& step) {
  const auto middle = std::stable_partition(lookups.begin(), lookups.end(),
                                            [](const ShardLoad& load) { return !load.replica; });
  const std::span<const ShardLoad> shards(lookups.begin(), middle);
  const std::span<const ShardLoad> replicas(middle, lookups.end());
  const double sort_ms = simulate_sort_ms(profile, shards);
  const double replica_sort_ms = simulate_sort_ms(profile, replicas);
  add_lookups(simulate_compute(profile, shards, batch_size), sort_ms, step);
  const ComputeTime own = simulate_compute(profile, replicas, batch_size);
  step.replica_forward_ms.push_back(own.forward_ms);
  step.replica_backward_ms.push_back(own.backward_ms - replica_sort_ms);
  step.sort_ms.push_back(sort_ms + replica_sort_ms);
}

/// The hardware as it is inside a step: with its latency between hosts, and the launches of a CUDA
/// graph where one launches it.
ChosenProfile inside_step(ChosenProfile hardware, const DenseModel& model) {
  InterconnectProfile& link = hardware.interconnect;
  if (link.devices_per_host.value > 0) {
    link.inter_host_latency_us = link.inter_host_step_latency_us;
  }
  if (model.cuda_graph) hardware.profile.launch_us.value = kGraphLaunchUs;
  return hardware;
}

}  // namespace

double input_exchange_ms(const ChosenProfile& hardware, const std::vector<double>& rows,
                         std::int64_t batch_size) {
  const ExchangeValues values{rows, std::vector<double>(rows.size())};
  HardwareProfile no_copies = hardware.profile;
  no_copies.exchange_copies = {};
  const std::vector<double> together(rows.size(), 0.0);
  return together_ms(simulate_exchange(no_copies, hardware.interconnect,
                                       in_bytes(values, kIndexBytes), together, batch_size)
                         .backward_ms);
}

std::vector<double> rows_of_devices(const PlanLoads& loads, std::int64_t batch_size) {
  std::vector<double> rows;
  for (const std::vector<ShardLoad>& device : loads.lookups) {
    double lookups = 0;
    for (const ShardLoad& load : device) lookups += load.lookups;
    rows.push_back(lookups / static_cast<double>(batch_size));
  }
  return rows;
}

double input_copy_ms(const HardwareProfile& profile, const Workload& workload,
                     const DenseModel& model, double samples) {
  double bytes = (model.dense_features + 1) * kFeatureBytes;
  for (const Table& table : workload.tables) bytes += table.pooling_factor * kIndexBytes;
  return samples * bytes / (profile.host_gbps.value * 1e6);
}

EmbeddingStep embedding_step(const ChosenProfile& hardware, const Workload& workload,
                             const PlanLoads& loads, const DenseModel& model, double samples) {
  const HardwareProfile& profile = hardware.profile;
  EmbeddingStep step;
  for (const std::vector<ShardLoad>& lookups : loads.lookups) {
    if (model.schedule == StepSchedule::kHugectr) {
      add_lookups_apart(profile, lookups, workload.batch_size, step);
    } else {
      add_lookups(simulate_compute(profile, lookups, workload.batch_size), 0, step);
    }
  }
  const double bytes = bytes_of(model.precision);
  const std::vector<double> together(loads.lookups.size(), 0.0);
  const CommTime exchange =
      simulate_exchange(profile, hardware.interconnect, in_bytes(loads.exchange, bytes), together,
                        workload.batch_size);
  step.exchange_forward_ms = together_ms(exchange.forward_ms);
  step.exchange_backward_ms = together_ms(exchange.backward_ms);
  step.replica_gradient_bytes = loads.reduced_bytes * bytes / kSimulatedBytes;
  step.input_exchange_ms =
      input_exchange_ms(hardware, rows_of_devices(loads, workload.batch_size), workload.batch_size);
  step.input_copy_ms = input_copy_ms(profile, workload, model, samples);
  step.forward_kernels = static_cast<std::int32_t>(profile.forward_kernels.value);
  step.backward_kernels = static_cast<std::int32_t>(profile.backward_kernels.value);
  return step;
}

Result<StepHardware> step_hardware(const ChosenProfile& chosen, const Workload& workload,
                                   std::int32_t devices, const DenseModel& model) {
  StepHardware step{inside_step(chosen, model), 0, {}};
  step.samples = static_cast<double>(samples_of_device(workload.batch_size, devices, 0));
  NEUROSHARD_ASSIGN_OR_RETURN(const KernelRates rates,
                              kernel_rates(step.hardware.profile, model.precision));
  NEUROSHARD_ASSIGN_OR_RETURN(step.dense, make_dense_step(model, workload, step.samples, rates));
  return step;
}

StepGraph step_graph(const StepHardware& step, const DenseModel& model,
                     const EmbeddingStep& embedding, std::int32_t shown, std::int32_t devices) {
  return make_step_graph(model, step.dense, embedding, shown, [&](double bytes) {
    return all_reduce_ms(step.hardware.interconnect, devices, bytes);
  });
}

}  // namespace neuroshard
