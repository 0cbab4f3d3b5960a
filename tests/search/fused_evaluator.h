#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/core/rng.h"
#include "search/plan_evaluator.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::test {

/// Costs with what makes real ones hard: a device's shards cost less together than apart, halves
/// more than half, the forward exchange waits for the slowest, and (unless `alike`) devices differ.
class FusedEvaluator : public search::PlanEvaluator {
 public:
  FusedEvaluator(const Workload& workload, std::int32_t devices, std::vector<float> table_costs,
                 double waiting, bool alike)
      : workload_(workload),
        devices_(devices),
        table_costs_(std::move(table_costs)),
        waiting_(waiting),
        alike_(alike) {}

  [[nodiscard]] std::int32_t devices() const override { return devices_; }
  search::ShapeId intern(const ShardShape& shape) override;
  [[nodiscard]] double shape_cost(search::ShapeId shape) const override;
  [[nodiscard]] std::size_t state_size() const override { return 8; }
  void clear(float* state) const override;
  float place(search::ShapeId shape, float* state) const override;
  [[nodiscard]] float empty_cost() const override;
  [[nodiscard]] const float* addend(search::ShapeId shape) const override;
  [[nodiscard]] float cost_of_sum(std::span<const float* const> parts) const override;
  void costs_with(search::ShapeId shape, std::span<const float> states,
                  std::span<float> costs) const override;
  [[nodiscard]] bool devices_alike() const override { return alike_; }
  void plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                  search::Scratch& scratch) const override;
  void plan_details(const search::PlanBatch& batch, const search::PlanDetails& details,
                    search::Scratch& scratch) const override;

 private:
  const Workload& workload_;
  std::int32_t devices_;
  std::vector<float> table_costs_;
  double waiting_;
  bool alike_;
  std::map<std::tuple<std::int32_t, std::int64_t, std::int32_t>, search::ShapeId> ids_;
  std::vector<std::array<float, 8>> addends_;
};

/// One for a random workload: costs between 0.5 and 12 ms.
FusedEvaluator random_fused(Rng& rng, const Workload& workload, std::int32_t devices);

/// `count` tables of 8 to 64 columns.
Workload many_tables(Rng& rng, std::int64_t count);

std::int64_t total_bytes(const Workload& workload);

}  // namespace neuroshard::test
