#include "engine/ground_truth/measure.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/core/hot_rows.h"
#include "engine/core/offload.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/cost_model/comm_predictor.h"
#include "engine/planner/planner.h"
#include "nn/inference.h"
#include "nn/isa.h"

namespace neuroshard {
namespace {

Status check(const Workload& workload, const Plan& plan, const MeasureOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check_measurable(workload, plan));
  if (options.measure_comm) return {};
  if (options.models == nullptr) return invalid_input("communication needs cost models");
  if (!options.models->comm) {
    return invalid_input("communication needs cost models with communication networks");
  }
  return simulate(workload, plan, *options.models).status();  // whether the models fit the plan
}

Status measure_compute(GroundTruth& truth, const Workload& workload, const Plan& plan,
                       const MeasureOptions& options, PlanMeasurement& measurement) {
  for (std::int32_t device = 0; device < plan.devices; ++device) {
    if (options.progress != nullptr) {
      options.progress->update("measuring", device, plan.devices, "devices");
    }
    const Result<ComputeTime> time = truth.measure_compute(workload, shards_of(plan, device));
    if (!time.ok()) return time.status().with_context("device " + std::to_string(device));
    measurement.compute.push_back(*time);
    measurement.cost.per_device[static_cast<std::size_t>(device)].compute_ms = time->total_ms;
  }
  return {};
}

Status measure_comm(GroundTruth& truth, std::int64_t batch_size, PlanCost& cost) {
  std::vector<std::int64_t> dims;
  std::vector<double> compute;
  for (const DeviceCost& device : cost.per_device) {
    dims.push_back(device.dim_sum);
    compute.push_back(device.compute_ms);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const io::CommSample measured,
                              measure_exchange(truth, std::move(dims), compute, batch_size));
  for (std::size_t d = 0; d < cost.per_device.size(); ++d) {
    cost.per_device[d].backward_comm_ms = measured.backward_ms[d];
    cost.per_device[d].forward_comm_ms = measured.forward_ms[d];
  }
  return {};
}

Status predict_comm(const CostModels& models, std::int64_t batch_size, PlanCost& cost) {
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Isa isa, nn::select_isa());
  const CommPredictor predictor(*models.comm, batch_size, nn::inference_kernels(isa));
  std::vector<float> compute;
  std::vector<std::int64_t> dims;
  for (const DeviceCost& device : cost.per_device) {
    compute.push_back(static_cast<float>(device.compute_ms));
    dims.push_back(device.dim_sum);
  }
  std::vector<float> backward(dims.size());
  std::vector<float> forward(dims.size());
  const CommBatch batch{1,
                        static_cast<std::int32_t>(dims.size()),
                        compute.data(),
                        dims.data(),
                        backward.data(),
                        forward.data()};
  AlignedVector<float> scratch(predictor.scratch_size(batch));
  predictor.predict(batch, scratch.data());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    cost.per_device[d].backward_comm_ms = backward[d];
    cost.per_device[d].forward_comm_ms = forward[d];
  }
  return {};
}

}  // namespace

std::vector<double> forward_starts(std::span<const double> compute_ms,
                                   std::span<const double> backward_ms) {
  std::vector<double> starts(compute_ms.size());
  for (std::size_t d = 0; d < starts.size(); ++d) starts[d] = compute_ms[d] + backward_ms[d];
  const double earliest = *std::min_element(starts.begin(), starts.end());
  for (double& start : starts) start -= earliest;
  return starts;
}

Result<io::CommSample> measure_exchange(GroundTruth& truth, std::vector<std::int64_t> dims,
                                        std::span<const double> compute_ms,
                                        std::int64_t batch_size) {
  const std::vector<double> at_once(dims.size(), 0.0);
  NEUROSHARD_ASSIGN_OR_RETURN(CommTime together,
                              truth.measure_all_to_all(dims, at_once, batch_size));
  std::vector<double> starts = forward_starts(compute_ms, together.backward_ms);
  NEUROSHARD_ASSIGN_OR_RETURN(CommTime staggered,
                              truth.measure_all_to_all(dims, starts, batch_size));
  return io::CommSample{std::move(dims), std::move(starts), std::move(staggered.forward_ms),
                        std::move(together.backward_ms)};
}

Status check_measurable_with_hot_rows(const Workload& workload, const Plan& plan) {
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(workload, plan));
  NEUROSHARD_RETURN_IF_ERROR(check_no_replicas(plan, "data-parallel tables are not measured"));
  return check_none_offloaded(plan, "kernels are measured with all weights on the devices");
}

Status check_measurable(const Workload& workload, const Plan& plan) {
  NEUROSHARD_RETURN_IF_ERROR(check_measurable_with_hot_rows(workload, plan));
  return check_no_hot_rows(plan, "only simulated devices and --backend cpu have them");
}

std::vector<Shard> shards_of(const Plan& plan, std::int32_t device) {
  std::vector<Shard> shards;
  for (const Shard& shard : plan.shards) {
    if (shard.device == device) shards.push_back(shard);
  }
  return shards;
}

PlanMeasurement not_yet_measured(const Workload& workload, const Plan& plan) {
  PlanMeasurement measurement;
  std::vector<DeviceCost>& devices = measurement.cost.per_device;
  devices.resize(static_cast<std::size_t>(plan.devices));
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan, StepBuffers::kOff);
  for (std::size_t d = 0; d < devices.size(); ++d) devices[d].memory_bytes = bytes[d];
  for (const Shard& shard : plan.shards) {
    devices[static_cast<std::size_t>(shard.device)].dim_sum += shard.dim();
  }
  return measurement;
}

Result<PlanMeasurement> measure_plan(GroundTruth& truth, const Workload& workload, const Plan& plan,
                                     const MeasureOptions& options) {
  NEUROSHARD_RETURN_IF_ERROR(check(workload, plan, options));
  PlanMeasurement measurement = not_yet_measured(workload, plan);
  measurement.comm_measured = options.measure_comm;
  NEUROSHARD_RETURN_IF_ERROR(measure_compute(truth, workload, plan, options, measurement));
  NEUROSHARD_RETURN_IF_ERROR(
      options.measure_comm ? measure_comm(truth, workload.batch_size, measurement.cost)
                           : predict_comm(*options.models, workload.batch_size, measurement.cost));
  for (const DeviceCost& device : measurement.cost.per_device) {
    measurement.cost.cost_ms = std::max(measurement.cost.cost_ms, device.total_ms());
  }
  if (options.progress != nullptr) {
    options.progress->update("measuring", plan.devices, plan.devices, "devices");
  }
  return measurement;
}

}  // namespace neuroshard
