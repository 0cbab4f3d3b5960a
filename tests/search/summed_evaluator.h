#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "search/plan_evaluator.h"

namespace neuroshard::test {

/// An evaluator whose device states are sums of eight floats a shard, in the plainest form: what a
/// shape adds and what a state costs are left to derive.
class SummedEvaluator : public search::PlanEvaluator {
 public:
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

 protected:
  using State = std::array<float, 8>;

  SummedEvaluator(const Workload& workload, std::int32_t devices)
      : workload_(workload), devices_(devices) {}

  /// What a shard with that share of the table's cells adds to a state.
  [[nodiscard]] virtual State addend_of(std::size_t table, float share) const = 0;
  [[nodiscard]] virtual float cost_of_state(const float* state) const = 0;

 private:
  const Workload& workload_;
  std::int32_t devices_;
  std::map<std::tuple<std::int32_t, std::int64_t, std::int32_t>, search::ShapeId> ids_;
  std::vector<State> addends_;
};

}  // namespace neuroshard::test
