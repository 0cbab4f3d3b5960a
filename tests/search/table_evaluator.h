#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/rng.h"
#include "search/plan_evaluator.h"

namespace neuroshard::test {

/// Costs that a person can add up: a shard costs its share of its table's cost plus `per_shard`, a
/// device the sum of its shards, a plan the largest device cost plus `per_dim` times its dims.
class TableEvaluator : public search::PlanEvaluator {
 public:
  TableEvaluator(const Workload& workload, std::int32_t devices, std::vector<float> table_costs,
                 float per_shard = 0, double per_dim = 0)
      : workload_(workload),
        devices_(devices),
        table_costs_(std::move(table_costs)),
        per_shard_(per_shard),
        per_dim_(per_dim) {}

  [[nodiscard]] std::int32_t devices() const override { return devices_; }
  search::ShapeId intern(const ShardShape& shape) override;
  [[nodiscard]] double shape_cost(search::ShapeId shape) const override;
  [[nodiscard]] std::size_t state_size() const override { return 8; }
  void clear(float* state) const override;
  float place(search::ShapeId shape, float* state) const override;
  [[nodiscard]] float empty_cost() const override { return 0; }
  [[nodiscard]] const float* addend(search::ShapeId shape) const override;
  [[nodiscard]] float cost_of_sum(std::span<const float* const> parts) const override;
  void costs_with(search::ShapeId shape, std::span<const float> states,
                  std::span<float> costs) const override;
  [[nodiscard]] bool devices_alike() const override { return true; }
  [[nodiscard]] bool additive() const override { return per_dim_ == 0; }
  void plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                  search::Scratch& scratch) const override;
  void plan_details(const search::PlanBatch& batch, const search::PlanDetails& details,
                    search::Scratch& scratch) const override;

 private:
  [[nodiscard]] double total(const search::PlanBatch& batch, std::size_t at) const;

  const Workload& workload_;
  std::int32_t devices_;
  std::vector<float> table_costs_;
  float per_shard_;
  double per_dim_;
  std::map<std::tuple<std::int32_t, std::int64_t, std::int32_t>, search::ShapeId> ids_;
  std::vector<float> costs_;
  std::vector<std::array<float, 8>> addends_;
};

/// A table of rows x dim fp32 that is looked up `pooling_factor` times a sample.
Table make_table(std::int64_t rows, std::int32_t dim, double pooling_factor = 1);

Cluster make_cluster(std::int32_t devices, std::int64_t memory_bytes);

/// Devices of the plan's shards, by table, then column.
std::vector<std::int32_t> devices_of(Plan plan);

/// The plan's cost, its shards placed from scratch in the order given.
double cost_of(const Plan& plan, search::PlanEvaluator& evaluator);

/// The same with the shards in canonical order, as in a plan file.
double canonical_cost(Plan plan, search::PlanEvaluator& evaluator);

/// 1..max_tables tables with dims of 4 to 64 and sizes that often collide, so that ties happen.
Workload random_workload(Rng& rng, int max_tables);

}  // namespace neuroshard::test
