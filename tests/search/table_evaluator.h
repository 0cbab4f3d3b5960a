#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/rng.h"
#include "tests/search/summed_evaluator.h"

namespace neuroshard::test {

/// Costs that a person can add up: a shard costs its share of its table's cost plus `per_shard`, a
/// device the sum of its shards, a plan the largest device cost plus `per_dim` times its dims.
class TableEvaluator : public SummedEvaluator {
 public:
  TableEvaluator(const Workload& workload, std::int32_t devices, std::vector<float> table_costs,
                 float per_shard = 0, double per_dim = 0)
      : SummedEvaluator(workload, devices),
        table_costs_(std::move(table_costs)),
        per_shard_(per_shard),
        per_dim_(per_dim) {}

  [[nodiscard]] bool devices_alike() const override { return true; }
  [[nodiscard]] bool additive() const override { return per_dim_ == 0; }
  void plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                  search::Scratch& scratch) const override;
  void plan_details(const search::PlanBatch& batch, const search::PlanDetails& details,
                    search::Scratch& scratch) const override;

 protected:
  [[nodiscard]] State addend_of(std::size_t table, float share) const override;
  [[nodiscard]] float cost_of_state(const float* state) const override { return state[0]; }

 private:
  [[nodiscard]] double total(const search::PlanBatch& batch, std::size_t at) const;

  std::vector<float> table_costs_;
  float per_shard_;
  double per_dim_;
};

/// A table of rows x dim fp32 that is looked up `pooling_factor` times a sample.
Table make_table(std::int64_t rows, std::int32_t dim, double pooling_factor = 1);

Cluster make_cluster(std::int32_t devices, std::int64_t memory_bytes);
/// Devices that have together `room` times the bytes of the tables.
Cluster cluster_with_room(const Workload& workload, std::int32_t devices, double room);

/// Whether the plan covers the workload's tables and no device has more than its memory.
bool fits(const Workload& workload, const Plan& plan, const Cluster& cluster);

/// Devices of the plan's shards, by table, then column.
std::vector<std::int32_t> devices_of(Plan plan);

/// The plan's cost, its shards placed from scratch in the order given.
double cost_of(const Plan& plan, search::PlanEvaluator& evaluator);

/// The same with the shards in canonical order, as in a plan file.
double canonical_cost(Plan plan, search::PlanEvaluator& evaluator);

/// 1..max_tables tables with dims of 4 to 64 and sizes that often collide, so that ties happen.
Workload random_workload(Rng& rng, int max_tables);

}  // namespace neuroshard::test
