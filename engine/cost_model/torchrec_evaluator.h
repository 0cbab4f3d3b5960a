#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/kernel_bandwidths.h"
#include "engine/cost_model/shape_ids.h"
#include "engine/cost_model/torchrec_formula.h"

namespace neuroshard {

/// TorchRecFormula, to search and to compare under the costs that TorchRec's planner minimises: a
/// device costs the sum of its shards', exchanges among it, so dims cost a search nothing more.
/// Thread-safety: as PlanEvaluator says.
class TorchRecEvaluator final : public CostEvaluator {
 public:
  /// REQUIRES a valid workload, which must outlive the evaluator, and devices >= 1.
  TorchRecEvaluator(const TorchRecCosts& costs, const Workload& workload, std::int32_t devices);

  [[nodiscard]] std::int32_t devices() const override { return devices_; }
  search::ShapeId intern(const ShardShape& shape) override;
  [[nodiscard]] double shape_cost(search::ShapeId shape) const override;
  [[nodiscard]] std::size_t state_size() const override { return kStateSize; }
  void clear(float* state) const override;
  float place(search::ShapeId shape, float* state) const override;
  [[nodiscard]] float empty_cost() const override { return 0; }
  [[nodiscard]] const float* addend(search::ShapeId shape) const override;
  [[nodiscard]] float cost_of_sum(std::span<const float* const> parts) const override;
  void costs_with(search::ShapeId shape, std::span<const float> states,
                  std::span<float> costs) const override;
  [[nodiscard]] bool devices_alike() const override { return true; }
  [[nodiscard]] bool additive() const override { return true; }
  [[nodiscard]] double additive_cost(const ShardShape& shape) override {
    return cost_of(shape).total_ms();
  }
  void plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                  search::Scratch& scratch) const override;
  void plan_details(const search::PlanBatch& batch, const search::PlanDetails& details,
                    search::Scratch& scratch) const override;
  /// REQUIRES a plan with dealt_columns().
  PlanCost evaluate(const Plan& plan) override;

 private:
  static constexpr std::size_t kStateSize = 8;  // milliseconds, then padding

  [[nodiscard]] TorchRecShardCost cost_of(const ShardShape& shape) const {
    return formula_.shard(table_of(shape.table), shape, bandwidths_.of(shape.table, shape.kernel));
  }
  [[nodiscard]] const Table& table_of(std::int32_t table) const {
    return workload_.tables[static_cast<std::size_t>(table)];
  }

  const Workload& workload_;
  const std::int32_t devices_;
  const TorchRecFormula formula_;
  const KernelBandwidths bandwidths_;
  /// By table, rows, dim, row_blocks, replicated, kernel.
  ShapeIds ids_;
  std::deque<std::array<float, kStateSize>> addends_;
  std::vector<double> alone_;  ///< shape_cost() of each shape
};

}  // namespace neuroshard
