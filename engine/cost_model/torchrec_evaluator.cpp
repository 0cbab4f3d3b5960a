#include "engine/cost_model/torchrec_evaluator.h"

#include <algorithm>

#include "engine/cost_model/torchrec_rows.h"

namespace neuroshard {

TorchRecEvaluator::TorchRecEvaluator(const TorchRecCosts& costs, const Workload& workload,
                                     std::int32_t devices)
    : workload_(workload),
      devices_(devices),
      formula_(costs, workload.batch_size, devices),
      bandwidths_(costs, workload) {
  ids_.reserve(workload.tables.size());
}

search::ShapeId TorchRecEvaluator::intern(const ShardShape& shape) {
  ShardShape seen = shape;
  seen.in_order = false;  // costs nothing
  seen.device_group = 0;
  const auto [place, is_new] =
      ids_.try_emplace(seen, static_cast<search::ShapeId>(addends_.size()));
  if (is_new) {
    alone_.push_back(cost_of(shape).total_ms());
    addends_.push_back({static_cast<float>(alone_.back())});
  }
  return place->second;
}

double TorchRecEvaluator::shape_cost(search::ShapeId shape) const {
  return alone_[static_cast<std::size_t>(shape)];
}

void TorchRecEvaluator::clear(float* state) const { std::fill_n(state, kStateSize, 0.0f); }

float TorchRecEvaluator::place(search::ShapeId shape, float* state) const {
  return state[0] += addend(shape)[0];
}

const float* TorchRecEvaluator::addend(search::ShapeId shape) const {
  return addends_[static_cast<std::size_t>(shape)].data();
}

float TorchRecEvaluator::cost_of_sum(std::span<const float* const> parts) const {
  float sum = 0;
  for (const float* part : parts) sum += part[0];
  return sum;
}

void TorchRecEvaluator::costs_with(search::ShapeId shape, std::span<const float> states,
                                   std::span<float> costs) const {
  const float own = addend(shape)[0];
  for (std::size_t d = 0; d < costs.size(); ++d) costs[d] = states[d * kStateSize] + own;
}

void TorchRecEvaluator::plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                                   search::Scratch&) const {
  const auto devices = static_cast<std::size_t>(devices_);
  for (std::size_t plan = 0; plan < costs.size(); ++plan) {
    const std::span<const float> own = batch.compute_ms.subspan(plan * devices, devices);
    costs[plan] = *std::max_element(own.begin(), own.end());
  }
}

void TorchRecEvaluator::plan_details(const search::PlanBatch& batch,
                                     const search::PlanDetails& details, search::Scratch&) const {
  // Sums of this evaluator have the exchanges of shards in them, and nobody waits for others.
  std::copy(batch.compute_ms.begin(), batch.compute_ms.end(), details.ready_ms.begin());
  std::copy(batch.compute_ms.begin(), batch.compute_ms.end(), details.total_ms.begin());
}

PlanCost TorchRecEvaluator::evaluate(const Plan& plan) {
  PlanCost cost;
  cost.per_device.resize(static_cast<std::size_t>(devices_));
  const auto add = [&](std::int32_t device, const TorchRecShardCost& shard) {
    DeviceCost& own = cost.per_device[static_cast<std::size_t>(device)];
    own.compute_ms += shard.compute_ms;
    own.forward_comm_ms += shard.forward_ms;
    own.backward_comm_ms += shard.backward_ms;
  };
  for (const Shard& shard : plan.shards) {
    const bool replicated = shard.device == kEveryDevice;
    const std::int32_t end = replicated ? devices_ : shard.device + 1;
    for (std::int32_t index = replicated ? 0 : shard.device; index < end; ++index) {
      DeviceCost& device = cost.per_device[static_cast<std::size_t>(index)];
      device.dim_sum += shard.dim();
      if (!has_part_of_rows(workload_, shard)) add(index, cost_of(shape_of(shard)));
    }
  }
  // Dealt rows cost all devices that they are dealt to the same, those that get none, too.
  const auto columns = dealt_columns(workload_, plan, formula_.host_devices()).value();
  for (const DealtColumns& dealt : columns) {
    const Table& table = table_of(dealt.table);
    const double bandwidth = bandwidths_.of(dealt.table, dealt.kernel);
    const TorchRecShardCost block = dealt.devices == devices_
                                        ? formula_.block_of_all(table, bandwidth)
                                        : formula_.block_of_host(table, dealt.dim, bandwidth);
    for (std::int32_t rank = 0; rank < dealt.devices; ++rank) {
      add(dealt.first_device + rank, block);
    }
  }
  for (const DeviceCost& device : cost.per_device) {
    cost.cost_ms = std::max(cost.cost_ms, device.total_ms());
  }
  return cost;
}

}  // namespace neuroshard
