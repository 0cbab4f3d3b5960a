// What of a step does not depend on where the tables are, asked of the event simulator.
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "engine/ground_truth/sim/compute_model.h"
#include "engine/ground_truth/sim/iteration_model.h"
#include "engine/ground_truth/sim/step_parts.h"
#include "engine/iteration/step_simulator.h"

namespace neuroshard {
namespace {

/// What values that layers compute in are when they travel.
Precision values_of(DensePrecision precision) {
  if (precision == DensePrecision::kFp16) return Precision::kFp16;
  return precision == DensePrecision::kBf16 ? Precision::kBf16 : Precision::kFp32;
}

/// Milliseconds of a step's parts that plans decide.
struct Parts {
  double lookup_forward = 0;
  double lookup_backward = 0;
  double forward = 0;
  double backward = 0;
  double input = 0;
};

/// Steps of devices that all do the same.
class Probe {
 public:
  Probe(const StepHardware& step, const DenseModel& model, std::int32_t devices)
      : step_(step), model_(model), devices_(devices) {}

  [[nodiscard]] double step_ms(const Parts& parts) const {
    StepGraph graph = graph_of(parts);
    for (StepTask& task : graph.tasks) task.issue_ms = 0;
    return StepSimulator(graph).iteration_ms();
  }
  /// Of the processor that issues the tasks.
  [[nodiscard]] double issue_ms() const {
    double ms = 0;
    for (const StepTask& task : graph_of({}).tasks) ms += task.issue_ms;
    return ms;
  }

 private:
  [[nodiscard]] StepGraph graph_of(const Parts& parts) const {
    const std::int32_t shown = std::min(devices_, 2);
    const auto each = [&](double ms) {
      return std::vector<double>(static_cast<std::size_t>(shown), ms);
    };
    EmbeddingStep embedding;
    embedding.lookup_forward_ms = each(parts.lookup_forward);
    embedding.lookup_backward_ms = each(parts.lookup_backward);
    if (model_.schedule == StepSchedule::kHugectr) {
      embedding.replica_forward_ms = embedding.replica_backward_ms = embedding.sort_ms = each(0);
    }
    embedding.exchange_forward_ms = parts.forward;
    embedding.exchange_backward_ms = parts.backward;
    embedding.input_exchange_ms = parts.input;
    const HardwareProfile& profile = step_.hardware.profile;
    embedding.forward_kernels = static_cast<std::int32_t>(profile.forward_kernels.value);
    embedding.backward_kernels = static_cast<std::int32_t>(profile.backward_kernels.value);
    return step_graph(step_, model_, embedding, shown, devices_);
  }

  const StepHardware& step_;
  const DenseModel& model_;
  const std::int32_t devices_;
};

/// Each part comes out where all that could hide it takes no time, or all that it could hide behind
/// takes longer than a whole step.
DenseTime dense_parts(const Probe& probe) {
  const double longer = 1 + 2 * probe.step_ms({});
  const double all = probe.step_ms({longer, longer, longer, longer, 0}) - 4 * longer;
  DenseTime time;
  time.beside_forward_ms = probe.step_ms({longer, longer, 0, longer, 0}) - all - 3 * longer;
  time.beside_backward_ms = probe.step_ms({longer, longer, longer, 0, 0}) - all - 3 * longer;
  time.reduce_after_exchange_ms = probe.step_ms({longer, 0, longer, longer, 0}) - all - 3 * longer;
  const double reduced = probe.step_ms({longer, 0, longer, 0, 0}) - all - 2 * longer;
  time.reduce_after_dense_ms = reduced - time.beside_backward_ms;
  time.rest_ms =
      probe.step_ms({0, 0, longer, longer, longer}) - 3 * longer - time.reduce_after_exchange_ms;
  time.optimizer_ms = all - time.rest_ms;
  return time;
}

double gradient_bytes(const DenseStep& dense) {
  double bytes = 0;
  for (const auto* operators :
       {&dense.top_backward, &dense.interaction_backward, &dense.bottom_backward}) {
    for (const DenseOperator& one : *operators) bytes += one.gradient_bytes;
  }
  return bytes;
}

StepLinks step_links(const StepHardware& step, std::int32_t devices, bool together) {
  return {step.hardware.interconnect, devices, gradient_bytes(step.dense), together,
          step.samples * kIndexBytes};
}

/// Of next to nothing: launches and latencies.
ComputeTime least_lookup(const HardwareProfile& profile, const Workload& workload) {
  const ShardLoad nothing;
  return simulate_compute(profile, {&nothing, 1}, workload.batch_size);
}

/// Of each table whole, beside the least lookup.
std::vector<LookupShares> shares_of(const HardwareProfile& profile, const Workload& workload) {
  const ComputeTime least = least_lookup(profile, workload);
  std::vector<LookupShares> shares;
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    const ShardLoad load = shard_load(workload, whole_table(workload, table, 0));
    const ComputeTime time = simulate_compute(profile, {&load, 1}, workload.batch_size);
    const double sort = simulate_sort_ms(profile, {&load, 1});
    const double others = time.total_ms - least.total_ms - sort;
    shares.push_back({0, sort});
    if (others > 0) shares.back().forward = (time.forward_ms - least.forward_ms) / others;
  }
  return shares;
}

double launches_ms(const HardwareProfile& profile) {
  return 1e-3 * profile.launch_us.value *
         (profile.forward_kernels.value + profile.backward_kernels.value);
}

/// What each takes more than a lookup of next to nothing: all of them are one.
std::vector<ReplicaLookup> replica_lookups(const StepHardware& step, const Workload& workload) {
  const HardwareProfile& profile = step.hardware.profile;
  const auto samples = static_cast<std::int64_t>(step.samples);
  const ComputeTime least = least_lookup(profile, workload);
  std::vector<ReplicaLookup> all;
  for (std::int32_t table = 0; table < std::ssize(workload.tables); ++table) {
    const ShardLoad load = replica_load(workload, table, samples);
    const ComputeTime time = simulate_compute(profile, {&load, 1}, workload.batch_size);
    const double sort = simulate_sort_ms(profile, {&load, 1});
    all.push_back(
        {time.forward_ms - least.forward_ms + sort, time.backward_ms - least.backward_ms - sort});
  }
  return all;
}

}  // namespace

Result<DenseTime> simulate_dense_time(const ChosenProfile& chosen, const Workload& workload,
                                      std::int32_t devices, const DenseModel& model) {
  NEUROSHARD_ASSIGN_OR_RETURN(const StepHardware step,
                              step_hardware(chosen, workload, devices, model));
  const Probe probe(step, model, devices);
  const bool hugectr = model.schedule == StepSchedule::kHugectr;
  const HardwareProfile& profile = step.hardware.profile;
  DenseTime time = dense_parts(probe);
  time.least_ms = std::max(probe.issue_ms(), input_copy_ms(profile, workload, model, step.samples));
  time.shares = shares_of(profile, workload);
  time.sorts_beside = hugectr;
  const ComputeTime least = least_lookup(profile, workload);
  time.launch_forward_ms = least.forward_ms;
  time.launch_backward_ms = least.backward_ms;
  time.launches_saved_ms = launches_ms(chosen.profile) - launches_ms(profile);
  time.values = values_of(model.precision);
  if (devices > 1) time.links = step_links(step, devices, hugectr);
  if (hugectr) time.replicas = replica_lookups(step, workload);
  return time;
}

}  // namespace neuroshard
