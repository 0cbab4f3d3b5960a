#include "engine/ground_truth/sim/iteration_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/hot_rows.h"
#include "engine/core/interconnect.h"
#include "engine/ground_truth/request.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/compute_model.h"
#include "engine/ground_truth/sim/plan_loads.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/iteration/dense_step.h"
#include "engine/iteration/kernel_times.h"
#include "engine/iteration/step_graph.h"

namespace neuroshard {
namespace {

constexpr double kFeatureBytes = 4;    // of a dense feature, and of a sample's label
constexpr double kSimulatedBytes = 4;  // of a value as comm_model.h exchanges it

/// The values, each of which has so many bytes, as many as take as long to send in fp32.
ExchangeValues in_bytes(const ExchangeValues& values, double bytes) {
  ExchangeValues scaled = values;
  for (double& value : scaled.whole) value *= bytes / kSimulatedBytes;
  for (double& value : scaled.partial) value *= bytes / kSimulatedBytes;
  return scaled;
}

double together_ms(const std::vector<double>& ms) {
  return *std::max_element(ms.begin(), ms.end());
}

/// From the devices that have the samples to those that look their rows up: an exchange backward,
/// of as many rows as a sample looks up there.
double input_exchange_ms(const ChosenProfile& hardware, const PlanLoads& loads, const Plan& plan,
                         std::int64_t batch_size) {
  const auto devices = static_cast<std::size_t>(plan.devices);
  ExchangeValues rows{std::vector<double>(devices), std::vector<double>(devices)};
  for (std::size_t d = 0; d < devices; ++d) {
    double lookups = 0;
    for (const ShardLoad& load : loads.lookups[d]) lookups += load.lookups;
    rows.whole[d] = lookups / static_cast<double>(batch_size);
  }
  HardwareProfile no_copies = hardware.profile;
  no_copies.exchange_copies = {};
  const std::vector<double> together(devices, 0.0);
  return together_ms(simulate_exchange(no_copies, hardware.interconnect,
                                       in_bytes(rows, kIndexBytes), together, batch_size)
                         .backward_ms);
}

double input_copy_ms(const HardwareProfile& profile, const Workload& workload,
                     const DenseModel& model, double samples) {
  double bytes = (model.dense_features + 1) * kFeatureBytes;
  for (const Table& table : workload.tables) bytes += table.pooling_factor * kIndexBytes;
  return samples * bytes / (profile.host_gbps.value * 1e6);
}

EmbeddingStep embedding_step(const ChosenProfile& hardware, const Workload& workload,
                             const Plan& plan, const DenseModel& model, double samples) {
  const HardwareProfile& profile = hardware.profile;
  const PlanLoads loads = plan_loads(workload, plan, devices_on_a_host(hardware, plan.devices));
  EmbeddingStep step;
  for (const std::vector<ShardLoad>& lookups : loads.lookups) {
    const ComputeTime time = simulate_compute(profile, lookups, workload.batch_size);
    step.lookup_forward_ms.push_back(time.forward_ms);
    step.lookup_backward_ms.push_back(time.backward_ms);
  }
  const double bytes = bytes_of(model.precision);
  const std::vector<double> together(loads.lookups.size(), 0.0);
  const CommTime exchange =
      simulate_exchange(profile, hardware.interconnect, in_bytes(loads.exchange, bytes), together,
                        workload.batch_size);
  step.exchange_forward_ms = together_ms(exchange.forward_ms);
  step.exchange_backward_ms = together_ms(exchange.backward_ms);
  step.replica_reduce_ms = all_reduce_ms(hardware.interconnect, plan.devices,
                                         loads.reduced_bytes * bytes / kSimulatedBytes);
  step.input_exchange_ms = input_exchange_ms(hardware, loads, plan, workload.batch_size);
  step.input_copy_ms = input_copy_ms(profile, workload, model, samples);
  step.forward_kernels = static_cast<std::int32_t>(profile.forward_kernels.value);
  step.backward_kernels = static_cast<std::int32_t>(profile.backward_kernels.value);
  return step;
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

Result<IterationCost> simulate_iteration(const ChosenProfile& chosen, const Workload& workload,
                                         const Plan& plan, const DenseModel& model) {
  NEUROSHARD_RETURN_IF_ERROR(check_simulated(chosen, workload, plan));
  NEUROSHARD_RETURN_IF_ERROR(check_no_hot_rows(plan, "a whole step is not simulated with them"));
  const ChosenProfile hardware = inside_step(chosen, model);
  NEUROSHARD_ASSIGN_OR_RETURN(const KernelRates rates,
                              kernel_rates(hardware.profile, model.precision));
  const auto samples = static_cast<double>(samples_of_device(workload.batch_size, plan.devices, 0));
  NEUROSHARD_ASSIGN_OR_RETURN(const DenseStep dense,
                              make_dense_step(model, workload, samples, rates));
  const EmbeddingStep embedding = embedding_step(hardware, workload, plan, model, samples);
  const auto all_reduce = [&](double bytes) {
    return all_reduce_ms(hardware.interconnect, plan.devices, bytes);
  };
  return iteration_cost(make_step_graph(model, dense, embedding, plan.devices, all_reduce));
}

CostError iteration_error(const HardwareProfile& profile) {
  const SourcedValue& error = profile.iteration_error;
  if (error.source.empty()) {
    return {std::nullopt,
            "nobody has held training steps on " + profile.name + " against measurements"};
  }
  return {error.value, "90 % of published training steps are that near: " + error.source};
}

}  // namespace neuroshard
