#include "engine/ground_truth/sim/iteration_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/hot_rows.h"
#include "engine/core/interconnect.h"
#include "engine/ground_truth/requests/request.h"
#include "engine/ground_truth/sim/comm_model.h"
#include "engine/ground_truth/sim/compute_model.h"
#include "engine/ground_truth/sim/plan_loads.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/iteration/dense_step.h"
#include "engine/iteration/kernel_times.h"
#include "engine/iteration/step_graph.h"
#include "engine/iteration/step_simulator.h"

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

/// From the devices that have the samples to those that look their rows up: an exchange backward,
/// of `rows`, how many a sample looks up on each device.
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

/// Rows that a sample looks up on each device.
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

/// What is the same in every step of so many devices.
struct StepHardware {
  ChosenProfile hardware;
  double samples = 0;  ///< of one device
  DenseStep dense;
};

Result<StepHardware> step_hardware(const ChosenProfile& chosen, const Workload& workload,
                                   std::int32_t devices, const DenseModel& model) {
  StepHardware step{inside_step(chosen, model), 0, {}};
  step.samples = static_cast<double>(samples_of_device(workload.batch_size, devices, 0));
  NEUROSHARD_ASSIGN_OR_RETURN(const KernelRates rates,
                              kernel_rates(step.hardware.profile, model.precision));
  NEUROSHARD_ASSIGN_OR_RETURN(step.dense, make_dense_step(model, workload, step.samples, rates));
  return step;
}

/// Of `shown` of the devices, all of which exchange.
StepGraph step_graph(const StepHardware& step, const DenseModel& model,
                     const EmbeddingStep& embedding, std::int32_t shown, std::int32_t devices) {
  return make_step_graph(model, step.dense, embedding, shown, [&](double bytes) {
    return all_reduce_ms(step.hardware.interconnect, devices, bytes);
  });
}

/// What a step does with tables that are spread so evenly that all devices have the same to look
/// up, without what they exchange of outputs and gradients.
EmbeddingStep even_step(const ChosenProfile& hardware, const Workload& workload,
                        std::int32_t devices, const DenseModel& model, double samples) {
  Plan plan{1, {}};
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    plan.shards.push_back(whole_table(workload, static_cast<std::int32_t>(index), 0));
  }
  const PlanLoads loads = plan_loads(workload, plan, 1);
  EmbeddingStep step = embedding_step(hardware, workload, loads, model, samples);
  step.lookup_forward_ms.front() /= devices;
  step.lookup_backward_ms.front() /= devices;
  if (!step.sort_ms.empty()) step.sort_ms.front() /= devices;
  const double rows = rows_of_devices(loads, workload.batch_size).front() / devices;
  step.input_exchange_ms = input_exchange_ms(
      hardware, std::vector<double>(static_cast<std::size_t>(devices), rows), workload.batch_size);
  return step;
}

}  // namespace

Result<IterationCost> simulate_iteration(const ChosenProfile& chosen, const Workload& workload,
                                         const Plan& plan, const DenseModel& model) {
  NEUROSHARD_RETURN_IF_ERROR(check_simulated(chosen, workload, plan));
  NEUROSHARD_RETURN_IF_ERROR(check_no_hot_rows(plan, "a whole step is not simulated with them"));
  NEUROSHARD_ASSIGN_OR_RETURN(const StepHardware step,
                              step_hardware(chosen, workload, plan.devices, model));
  const PlanLoads loads =
      plan_loads(workload, plan, devices_on_a_host(step.hardware, plan.devices));
  const EmbeddingStep embedding =
      embedding_step(step.hardware, workload, loads, model, step.samples);
  return iteration_cost(step_graph(step, model, embedding, plan.devices, plan.devices));
}

Result<DenseTime> simulate_dense_time(const ChosenProfile& chosen, const Workload& workload,
                                      std::int32_t devices, const DenseModel& model) {
  NEUROSHARD_ASSIGN_OR_RETURN(const StepHardware step,
                              step_hardware(chosen, workload, devices, model));
  EmbeddingStep embedding = even_step(step.hardware, workload, devices, model, step.samples);
  const double lookup_ms = embedding.lookup_forward_ms.front() +
                           embedding.lookup_backward_ms.front() +
                           (embedding.sort_ms.empty() ? 0 : embedding.sort_ms.front());
  const std::int32_t shown = std::min(devices, 2);  // all do the same
  const StepGraph graph = step_graph(step, model, embedding, shown, devices);
  StepSimulator simulator(graph);
  const auto time = [&](double forward_ms, double backward_ms) {
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      const StepPhase phase = graph.tasks[task].phase;
      if (phase == StepPhase::kExchangeForward) simulator.set_ms(task, forward_ms);
      if (phase == StepPhase::kExchangeBackward) simulator.set_ms(task, backward_ms);
    }
    return simulator.iteration_ms() - lookup_ms;
  };
  // The step is as long as what takes longer, the exchange or what runs beside it: one that takes
  // as long as the whole step hides all of that.
  const double all_ms = time(0, 0);
  const double without_forward_ms = time(all_ms, 0) - all_ms;
  const double without_backward_ms = time(0, all_ms) - all_ms;
  return DenseTime{all_ms - without_forward_ms, all_ms - without_backward_ms,
                   without_forward_ms + without_backward_ms - all_ms};
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
