#include "engine/cost_model/mlp_evaluator.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "engine/cost_model/column_costs.h"
#include "engine/cost_model/validate_models.h"
#include "search/plan_cost.h"

namespace neuroshard {
namespace {

search::DeviceWork work_of(const search::PlanBatch& batch, std::size_t device) {
  return batch.work.empty() ? search::DeviceWork() : batch.work[device];
}

Status check(const CostModels& models, const Workload& workload, std::int32_t devices) {
  if (!models.compute) {
    return invalid_input("the cost models have no compute half: add one with 'train compute'");
  }
  if (!models.comm) {
    return invalid_input("the cost models have no communication half: add one with 'train comm'");
  }
  NEUROSHARD_RETURN_IF_ERROR(validate(models).with_context("cost models"));
  if (models.comm->architecture == CommArchitecture::kFixedDevices &&
      models.comm->devices != devices) {
    return invalid_input("the cost models are for " + std::to_string(models.comm->devices) +
                         " devices only (fixed-devices-mlp), found " + std::to_string(devices));
  }
  return check_batch_size(models, workload.batch_size);
}

}  // namespace

Result<std::unique_ptr<MlpEvaluator>> MlpEvaluator::create(const CostModels& models,
                                                           const Workload& workload,
                                                           std::int32_t devices, nn::Isa isa,
                                                           const ExchangeFormat& exchange,
                                                           std::int32_t devices_per_host) {
  const Status status = check(models, workload, devices);
  if (!status.ok()) return models.source.empty() ? status : status.with_context(models.source);
  std::optional<DenseTime> dense;
  if (models.dense) {
    NEUROSHARD_ASSIGN_OR_RETURN(dense, models.dense->time(workload, devices, devices_per_host));
  }
  return std::unique_ptr<MlpEvaluator>(new MlpEvaluator(
      models, workload, devices, isa,
      ExchangeCosts::of(exchange, models.device_gbps.value_or(0),
                        dense ? dense->values : Precision::kFp32, models.exchange_copies),
      dense));
}

MlpEvaluator::MlpEvaluator(const CostModels& models, const Workload& workload, std::int32_t devices,
                           nn::Isa isa, const ExchangeCosts& exchange,
                           const std::optional<DenseTime>& dense)
    : workload_(workload),
      devices_(devices),
      dense_(dense),
      traffic_(workload, devices, models, exchange, dense),
      compute_(*models.compute, workload, devices, nn::inference_kernels(isa),
               dense && !dense->replicas.empty()),
      comm_(*models.comm, workload.batch_size, nn::inference_kernels(isa), exchange) {}

void MlpEvaluator::hold(std::span<const HotRows> hot) {
  if (std::equal(hot.begin(), hot.end(), hot_.begin(), hot_.end())) return;
  hot_.assign(hot.begin(), hot.end());
  std::vector<ShardShape> shapes;
  held_ = {};
  for (const HotRows& own : hot) {
    const Table& table = workload_.tables[static_cast<std::size_t>(own.table)];
    shapes.push_back(hot_shape(table, own));
    const search::Collectives each = traffic_.of(shapes.back()).collectives;
    for (std::int32_t device = 0; device < devices_; ++device) held_ += each;
  }
  compute_.hold(shapes);
}

std::unique_ptr<search::DeviceCosts> MlpEvaluator::device_costs() const {
  // Of a few devices rows come sooner.
  constexpr std::int32_t kLeastDevices = 32;
  if (devices_ < kLeastDevices || !compute_.has_columns()) return nullptr;
  return std::make_unique<ColumnCosts>(compute_, devices_);
}

/// The outputs live at the front of the scratch memory, the predictor works behind them.
CommBatch MlpEvaluator::predict_comm(const search::PlanBatch& batch,
                                     search::Scratch& scratch) const {
  const std::size_t values = batch.compute_ms.size();
  const std::size_t front = (2 * values + 15) / 16 * 16;
  CommBatch comm{batch.plans, devices_, batch.compute_ms.data(), batch.dim_sums.data(),
                 nullptr,     nullptr,  dense_.has_value()};
  const std::size_t size = front + comm_.scratch_size(comm);
  if (scratch.size() < size) scratch.resize(size);
  comm.backward_ms = scratch.data();
  comm.forward_ms = scratch.data() + values;
  comm_.predict(comm, scratch.data() + front);
  add_other_collectives(batch, comm);
  return comm;
}

search::Collectives MlpEvaluator::collectives_of(const search::PlanBatch& batch,
                                                 std::size_t plan) const {
  if (batch.collectives.empty()) return {};
  search::Collectives all = batch.collectives[plan];
  all += held_;
  return all;
}

/// All devices leave these together: nobody waits longer for the others after them.
void MlpEvaluator::add_other_collectives(const search::PlanBatch& batch,
                                         const CommBatch& comm) const {
  const auto devices = static_cast<std::size_t>(devices_);
  for (std::size_t plan = 0; plan < batch.collectives.size(); ++plan) {
    const ShardTraffic::Times more = traffic_.beside_all_to_all(
        collectives_of(batch, plan), batch.dim_sums.subspan(plan * devices, devices),
        batch.work.empty() ? batch.work : batch.work.subspan(plan * devices, devices));
    for (std::size_t at = plan * devices; at < (plan + 1) * devices; ++at) {
      comm.forward_ms[at] += more.forward_ms;
      comm.backward_ms[at] += more.backward_ms;
    }
  }
}

void MlpEvaluator::plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                              search::Scratch& scratch) const {
  const CommBatch comm = predict_comm(batch, scratch);
  const auto devices = static_cast<std::size_t>(devices_);
  for (std::size_t plan = 0; plan < costs.size(); ++plan) {
    const StepLoad load = common_load(batch, plan);
    double cost = -std::numeric_limits<double>::infinity();
    for (std::size_t at = plan * devices; at < (plan + 1) * devices; ++at) {
      cost = std::max(cost, time_of(load, work_of(batch, at), batch.compute_ms[at],
                                    comm.backward_ms[at], comm.forward_ms[at])
                                .total_ms);
    }
    costs[plan] = cost;
  }
}

void MlpEvaluator::plan_details(const search::PlanBatch& batch, const search::PlanDetails& details,
                                search::Scratch& scratch) const {
  const CommBatch comm = predict_comm(batch, scratch);
  const auto devices = static_cast<std::size_t>(devices_);
  for (std::size_t plan = 0; plan * devices < batch.compute_ms.size(); ++plan) {
    const StepLoad load = common_load(batch, plan);
    for (std::size_t at = plan * devices; at < (plan + 1) * devices; ++at) {
      const StepTime time = time_of(load, work_of(batch, at), batch.compute_ms[at],
                                    comm.backward_ms[at], comm.forward_ms[at]);
      details.ready_ms[at] = time.ready_ms;
      details.total_ms[at] = time.total_ms;
    }
  }
}

PlanCost MlpEvaluator::evaluate(const Plan& plan) {
  const auto [compute, dims, collectives, work] = search::place(plan, *this);
  search::Scratch scratch;
  const search::PlanBatch batch{1, compute, dims, {&collectives, 1}, work};
  const CommBatch comm = predict_comm(batch, scratch);
  const StepLoad load = common_load(batch, 0);
  const std::vector<std::int64_t> columns = columns_of_devices(plan);
  PlanCost cost;
  cost.cost_ms = -std::numeric_limits<double>::infinity();
  for (std::size_t d = 0; d < compute.size(); ++d) {
    const float forward = comm.forward_ms[d];
    const float backward = comm.backward_ms[d];
    const double total = time_of(load, work[d], compute[d], backward, forward).total_ms;
    DeviceCost own{compute[d], forward, backward, 0, columns[d], 0, 0};
    if (dense_) {
      // What hides behind the dense part is not counted twice.
      own.compute_ms =
          std::clamp(lookups_ms(compute[d]), 0.0, std::max(0.0, total - forward - backward));
      own.dense_ms = total - own.compute_ms - forward - backward;
    }
    cost.per_device.push_back(own);
    cost.cost_ms = std::max(cost.cost_ms, total);
  }
  return cost;
}

}  // namespace neuroshard
