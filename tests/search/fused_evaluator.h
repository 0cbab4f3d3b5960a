#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
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
  search::ShapeId intern(const ShardShape& shape) override {
    const auto [entry, is_new] = ids_.try_emplace({shape.table, shape.rows, shape.dim},
                                                  static_cast<search::ShapeId>(addends_.size()));
    if (is_new) {
      const auto table = static_cast<std::size_t>(shape.table);
      const float share =
          static_cast<float>(shape.dim) / static_cast<float>(workload_.tables[table].dim) *
          (static_cast<float>(shape.rows) / static_cast<float>(workload_.tables[table].rows));
      const float cost = table_costs_[table] * (0.3f + 0.7f * share);
      addends_.push_back({cost, cost * cost, 1, -cost, 0, 0, 0, 0});
    }
    return entry->second;
  }
  [[nodiscard]] double shape_cost(search::ShapeId shape) const override {
    return cost_of_state(addend(shape));
  }
  [[nodiscard]] std::size_t state_size() const override { return 8; }
  void clear(float* state) const override { std::fill_n(state, 8, 0.0f); }
  float place(search::ShapeId shape, float* state) const override {
    for (std::size_t k = 0; k < 8; ++k) state[k] += addend(shape)[k];
    return cost_of_state(state);
  }
  [[nodiscard]] float empty_cost() const override {
    const std::array<float, 8> nothing{};
    return cost_of_state(nothing.data());
  }
  [[nodiscard]] const float* addend(search::ShapeId shape) const override {
    return addends_[static_cast<std::size_t>(shape)].data();
  }
  [[nodiscard]] float cost_of_sum(std::span<const float* const> parts) const override {
    std::array<float, 8> sum{};
    for (const float* part : parts) {
      for (std::size_t k = 0; k < 8; ++k) sum[k] += part[k];
    }
    return cost_of_state(sum.data());
  }
  void costs_with(search::ShapeId shape, std::span<const float> states,
                  std::span<float> costs) const override {
    for (std::size_t d = 0; d < costs.size(); ++d) {
      std::array<float, 8> state{};
      std::copy_n(states.begin() + static_cast<std::ptrdiff_t>(8 * d), 8, state.begin());
      costs[d] = place(shape, state.data());
    }
  }
  [[nodiscard]] bool devices_alike() const override { return alike_; }

  void plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                  search::Scratch& scratch) const override {
    std::vector<double> ready(batch.compute_ms.size());
    std::vector<double> total(batch.compute_ms.size());
    plan_details(batch, {ready, total}, scratch);
    const auto devices = static_cast<std::ptrdiff_t>(devices_);
    for (std::size_t plan = 0; plan < costs.size(); ++plan) {
      const auto begin = total.begin() + static_cast<std::ptrdiff_t>(plan) * devices;
      costs[plan] = *std::max_element(begin, begin + devices);
    }
  }
  void plan_details(const search::PlanBatch& batch, const search::PlanDetails& details,
                    search::Scratch&) const override {
    const auto devices = static_cast<std::size_t>(devices_);
    for (std::size_t row = 0; row < static_cast<std::size_t>(batch.plans); ++row) {
      double last = 0;
      double widest = 0;
      for (std::size_t d = 0; d < devices; ++d) {
        const std::size_t at = row * devices + d;
        const auto dims = static_cast<double>(batch.dim_sums[at]);
        const double pace = alike_ ? 1 : 1 + 0.03 * static_cast<double>(d);
        details.ready_ms[at] = pace * static_cast<double>(batch.compute_ms[at]) + 0.004 * dims;
        last = std::max(last, details.ready_ms[at]);
        widest = std::max(widest, dims);
      }
      for (std::size_t d = 0; d < devices; ++d) {
        const std::size_t at = row * devices + d;
        details.total_ms[at] =
            details.ready_ms[at] + 0.002 * widest + waiting_ * (last - details.ready_ms[at]);
      }
    }
  }

 private:
  static float cost_of_state(const float* state) {
    return 0.1f + 0.8f * state[0] + 0.2f * std::sqrt(std::max(state[1], 0.0f)) + 0.02f * state[2] +
           0.001f * std::max(state[3] + 20, 0.0f);
  }

  const Workload& workload_;
  std::int32_t devices_;
  std::vector<float> table_costs_;
  double waiting_;
  bool alike_;
  std::map<std::tuple<std::int32_t, std::int64_t, std::int32_t>, search::ShapeId> ids_;
  std::vector<std::array<float, 8>> addends_;
};

/// One for a random workload: costs between 0.5 and 12 ms.
inline FusedEvaluator random_fused(Rng& rng, const Workload& workload, std::int32_t devices) {
  std::vector<float> costs;
  for (std::size_t k = 0; k < workload.tables.size(); ++k) {
    costs.push_back(static_cast<float>(0.5 + 11.5 * rng.uniform() * rng.uniform()));
  }
  const double waiting = 0.5 * static_cast<double>(rng.below(3));
  return {workload, devices, costs, waiting, rng.below(2) == 0};
}

/// `count` tables of 8 to 64 columns.
inline Workload many_tables(Rng& rng, std::int64_t count) {
  Workload workload;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto dim = static_cast<std::int32_t>(8 << rng.below(4));
    workload.tables.push_back(make_table(rng.between(10, 400), dim, rng.uniform() * 40));
  }
  return workload;
}

inline std::int64_t total_bytes(const Workload& workload) {
  std::int64_t total = 0;
  for (const Table& table : workload.tables) total += table_bytes(table);
  return total;
}

}  // namespace neuroshard::test
