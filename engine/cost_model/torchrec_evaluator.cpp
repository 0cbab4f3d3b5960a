#include "engine/cost_model/torchrec_evaluator.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace neuroshard {
namespace {

constexpr double kBytesPerMs = 1024.0 * 1024.0 * 1024.0 / 1000.0;  // of 1 GB/s
constexpr double kIndexBytes = 8;
constexpr double kOutputBytes = 4;  // of the all-to-all
constexpr double kBackwardFactor = 2;
constexpr double kGradientCopies = 2.455;  // of row-wise shards, of their outputs

/// Kernels are less efficient on narrow rows.
double narrow_penalty(std::int32_t dim) { return dim >= 128 ? 1 : dim >= 64 ? 1.15 : 1.75; }

std::set<std::int32_t> row_wise_tables(const Workload& workload, const Plan& plan) {
  std::set<std::int32_t> tables;
  for (const Shard& shard : plan.shards) {
    if (has_part_of_rows(workload, shard)) tables.insert(shard.table);
  }
  return tables;
}

}  // namespace

TorchRecEvaluator::TorchRecEvaluator(const TorchRecCosts& costs, const Workload& workload,
                                     std::int32_t devices)
    : workload_(workload),
      devices_(devices),
      samples_(static_cast<double>(workload.batch_size / devices * devices)),
      device_bandwidth_(costs.device_gbps * kBytesPerMs) {
  const double gbps =
      devices <= costs.devices_per_host ? costs.intra_host_gbps : costs.inter_host_gbps;
  comm_ms_per_dim_ = samples_ * kOutputBytes / (gbps * kBytesPerMs);
}

/// Indices and rows read and outputs written, forward; twice that, backward.
double TorchRecEvaluator::compute_ms(const ShardShape& shape) const {
  const Table& table = workload_.tables[static_cast<std::size_t>(shape.table)];
  if (shape.rows < table.rows) return row_wise_ms(table);
  const double lookups = table.pooling_factor * samples_;
  const double read = std::ceil(lookups * kIndexBytes);
  const double rows =
      lookups * std::max(shape.dim, 32) * static_cast<double>(bytes_per_element(table.data_type));
  const double written = samples_ * shape.dim * kOutputBytes;
  const double forward = (read + rows + written) * narrow_penalty(shape.dim) / device_bandwidth_;
  return forward * (1 + kBackwardFactor);
}

/// Of one block: its share of the lookups, but the outputs of all samples, whose gradients are
/// copied. Narrow rows cost no more than wide ones here.
double TorchRecEvaluator::row_wise_ms(const Table& table) const {
  const double lookups = table.pooling_factor * samples_ / devices_;
  const double read = std::ceil(lookups * kIndexBytes);
  const double rows = lookups * table.dim * static_cast<double>(bytes_per_element(table.data_type));
  const double written = samples_ * table.dim * kOutputBytes;
  const double forward = (read + rows + written) / device_bandwidth_;
  return forward * (1 + kBackwardFactor) + written * kGradientCopies / device_bandwidth_;
}

search::ShapeId TorchRecEvaluator::intern(const ShardShape& shape) {
  const auto [place, is_new] = ids_.try_emplace({shape.table, shape.rows, shape.dim},
                                                static_cast<search::ShapeId>(addends_.size()));
  if (is_new) {
    const double compute = compute_ms(shape);
    addends_.push_back({static_cast<float>(compute)});
    alone_.push_back(compute + 2 * comm_ms_per_dim_ * shape.dim);
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
  const float compute = addend(shape)[0];
  for (std::size_t d = 0; d < costs.size(); ++d) costs[d] = states[d * kStateSize] + compute;
}

void TorchRecEvaluator::plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                                   search::Scratch&) const {
  const auto devices = static_cast<std::size_t>(devices_);
  for (std::size_t plan = 0; plan < costs.size(); ++plan) {
    costs[plan] = 0;
    for (std::size_t at = plan * devices; at < (plan + 1) * devices; ++at) {
      const double comm = comm_ms_per_dim_ * static_cast<double>(batch.dim_sums[at]);
      costs[plan] = std::max(costs[plan], batch.compute_ms[at] + comm + comm);
    }
  }
}

void TorchRecEvaluator::plan_details(const search::PlanBatch& batch,
                                     const search::PlanDetails& details, search::Scratch&) const {
  for (std::size_t at = 0; at < batch.compute_ms.size(); ++at) {
    const double comm = comm_ms_per_dim_ * static_cast<double>(batch.dim_sums[at]);
    details.ready_ms[at] = batch.compute_ms[at] + comm;
    details.total_ms[at] = batch.compute_ms[at] + comm + comm;
  }
}

PlanCost TorchRecEvaluator::evaluate(const Plan& plan) {
  PlanCost cost;
  cost.per_device.resize(static_cast<std::size_t>(devices_));
  std::vector<std::int64_t> exchanged(cost.per_device.size());
  for (const Shard& shard : plan.shards) {
    const auto place = static_cast<std::size_t>(shard.device);
    DeviceCost& device = cost.per_device[place];
    device.dim_sum += shard.dim();
    device.memory_bytes += shard_bytes(workload_, shape_of(shard));
    if (has_part_of_rows(workload_, shard)) continue;
    device.compute_ms += compute_ms(shape_of(shard));
    exchanged[place] += shard.dim();
  }
  // Row-wise tables cost all devices the same, those without rows, too.
  for (const std::int32_t table : row_wise_tables(workload_, plan)) {
    const Table& whole = workload_.tables[static_cast<std::size_t>(table)];
    for (DeviceCost& device : cost.per_device) device.compute_ms += row_wise_ms(whole);
    for (std::int64_t& dims : exchanged) dims += whole.dim;
  }
  for (std::size_t d = 0; d < exchanged.size(); ++d) {
    DeviceCost& device = cost.per_device[d];
    device.forward_comm_ms = comm_ms_per_dim_ * static_cast<double>(exchanged[d]);
    device.backward_comm_ms = device.forward_comm_ms;
    cost.cost_ms = std::max(cost.cost_ms, device.total_ms());
  }
  return cost;
}

Status check_row_wise(const Workload& workload, const Plan& plan) {
  std::set<std::pair<std::int32_t, std::int32_t>> taken;  // table and device
  for (std::size_t index = 0; index < plan.shards.size(); ++index) {
    const Shard& shard = plan.shards[index];
    if (!has_part_of_rows(workload, shard)) continue;
    const Table& table = workload.tables[static_cast<std::size_t>(shard.table)];
    const std::int64_t block = (table.rows - 1) / plan.devices + 1;
    const bool even = shard.row_begin % block == 0 &&
                      shard.row_end == std::min(shard.row_begin + block, table.rows);
    const bool alone = taken.insert({shard.table, shard.device}).second;
    if (even && alone && shard.dim() == table.dim) continue;
    return invalid_input("shards[" + std::to_string(index) + "]: " + describe_shard(shard) +
                         " of table " + std::to_string(shard.table) + " on device " +
                         std::to_string(shard.device) + ", expected blocks of " +
                         std::to_string(block) +
                         " rows and all columns, each on a device of its own: the cost model "
                         "torchrec knows no other parts of rows");
  }
  return {};
}

}  // namespace neuroshard
