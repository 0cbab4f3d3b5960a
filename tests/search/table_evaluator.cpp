#include "tests/search/table_evaluator.h"

#include <algorithm>

#include "engine/core/aligned_vector.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/plan_check.h"
#include "engine/core/shard_bytes.h"

namespace neuroshard::test {

TableEvaluator::State TableEvaluator::addend_of(std::size_t table, float share) const {
  return {table_costs_[table] * share + per_shard_};
}

void TableEvaluator::plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                                search::Scratch&) const {
  const auto devices = static_cast<std::size_t>(this->devices());
  for (std::size_t plan = 0; plan < costs.size(); ++plan) {
    costs[plan] = 0;
    for (std::size_t at = plan * devices; at < (plan + 1) * devices; ++at) {
      costs[plan] = std::max(costs[plan], total(batch, at));
    }
  }
}

void TableEvaluator::plan_details(const search::PlanBatch& batch,
                                  const search::PlanDetails& details, search::Scratch&) const {
  for (std::size_t at = 0; at < batch.compute_ms.size(); ++at) {
    details.ready_ms[at] = batch.compute_ms[at];
    details.total_ms[at] = total(batch, at);
  }
}

double TableEvaluator::total(const search::PlanBatch& batch, std::size_t at) const {
  return static_cast<double>(batch.compute_ms[at]) +
         per_dim_ * static_cast<double>(batch.dim_sums[at]);
}

Table make_table(std::int64_t rows, std::int32_t dim, double pooling_factor) {
  Table table;
  table.rows = rows;
  table.dim = dim;
  table.pooling_factor = pooling_factor;
  return table;
}

Cluster cluster_with_room(const Workload& workload, std::int32_t devices, double room) {
  const auto bytes = static_cast<double>(workload_bytes(workload));
  return make_cluster(devices, static_cast<std::int64_t>(room * bytes / devices));
}

Cluster make_cluster(std::int32_t devices, std::int64_t memory_bytes) {
  Cluster cluster;
  cluster.devices = devices;
  cluster.memory_bytes = memory_bytes;
  return cluster;
}

bool fits(const Workload& workload, const Plan& plan, const Cluster& cluster) {
  const std::vector<std::int64_t> bytes = device_bytes(workload, plan);
  return validate(workload, plan).ok() &&
         *std::max_element(bytes.begin(), bytes.end()) <= cluster.memory_bytes;
}

std::vector<std::int32_t> devices_of(Plan plan) {
  canonicalize(plan);
  std::vector<std::int32_t> devices;
  for (const Shard& shard : plan.shards) devices.push_back(shard.device);
  return devices;
}

double cost_of(const Plan& plan, search::PlanEvaluator& evaluator) {
  const auto devices = static_cast<std::size_t>(plan.devices);
  const std::size_t size = evaluator.state_size();
  AlignedVector<float> states(devices * size);
  std::vector<float> compute(devices, evaluator.empty_cost());
  std::vector<std::int64_t> dims(devices);
  for (std::size_t device = 0; device < devices; ++device) {
    evaluator.clear(states.data() + device * size);
  }
  for (const Shard& shard : plan.shards) {
    const auto device = static_cast<std::size_t>(shard.device);
    compute[device] =
        evaluator.place(evaluator.intern(shape_of(shard)), states.data() + device * size);
    dims[device] += shard.dim();
  }
  double cost = 0;
  search::Scratch scratch;
  evaluator.plan_costs({1, compute, dims}, {&cost, 1}, scratch);
  return cost;
}

double canonical_cost(Plan plan, search::PlanEvaluator& evaluator) {
  canonicalize(plan);
  return cost_of(plan, evaluator);
}

Workload random_workload(Rng& rng, int max_tables) {
  Workload workload;
  const auto count = rng.between(1, max_tables);
  for (std::int64_t k = 0; k < count; ++k) {
    const auto dim = static_cast<std::int32_t>(4 << rng.below(5));
    workload.tables.push_back(make_table(rng.between(1, 4) * 100, dim, rng.uniform() * 40));
  }
  return workload;
}

}  // namespace neuroshard::test
