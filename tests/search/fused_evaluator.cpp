#include "tests/search/fused_evaluator.h"

#include <algorithm>
#include <cmath>

namespace neuroshard::test {
namespace {

float cost_of_state(const float* state) {
  return 0.1f + 0.8f * state[0] + 0.2f * std::sqrt(std::max(state[1], 0.0f)) + 0.02f * state[2] +
         0.001f * std::max(state[3] + 20, 0.0f);
}

}  // namespace

search::ShapeId FusedEvaluator::intern(const ShardShape& shape) {
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

double FusedEvaluator::shape_cost(search::ShapeId shape) const {
  return cost_of_state(addend(shape));
}

void FusedEvaluator::clear(float* state) const { std::fill_n(state, 8, 0.0f); }

float FusedEvaluator::place(search::ShapeId shape, float* state) const {
  for (std::size_t k = 0; k < 8; ++k) state[k] += addend(shape)[k];
  return cost_of_state(state);
}

float FusedEvaluator::empty_cost() const {
  const std::array<float, 8> nothing{};
  return cost_of_state(nothing.data());
}

const float* FusedEvaluator::addend(search::ShapeId shape) const {
  return addends_[static_cast<std::size_t>(shape)].data();
}

float FusedEvaluator::cost_of_sum(std::span<const float* const> parts) const {
  std::array<float, 8> sum{};
  for (const float* part : parts) {
    for (std::size_t k = 0; k < 8; ++k) sum[k] += part[k];
  }
  return cost_of_state(sum.data());
}

void FusedEvaluator::costs_with(search::ShapeId shape, std::span<const float> states,
                                std::span<float> costs) const {
  for (std::size_t d = 0; d < costs.size(); ++d) {
    std::array<float, 8> state{};
    std::copy_n(states.begin() + static_cast<std::ptrdiff_t>(8 * d), 8, state.begin());
    costs[d] = place(shape, state.data());
  }
}

void FusedEvaluator::plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                                search::Scratch& scratch) const {
  std::vector<double> ready(batch.compute_ms.size());
  std::vector<double> total(batch.compute_ms.size());
  plan_details(batch, {ready, total}, scratch);
  const auto devices = static_cast<std::ptrdiff_t>(devices_);
  for (std::size_t plan = 0; plan < costs.size(); ++plan) {
    const auto begin = total.begin() + static_cast<std::ptrdiff_t>(plan) * devices;
    costs[plan] = *std::max_element(begin, begin + devices);
  }
}

void FusedEvaluator::plan_details(const search::PlanBatch& batch,
                                  const search::PlanDetails& details, search::Scratch&) const {
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

FusedEvaluator random_fused(Rng& rng, const Workload& workload, std::int32_t devices) {
  std::vector<float> costs;
  for (std::size_t k = 0; k < workload.tables.size(); ++k) {
    costs.push_back(static_cast<float>(0.5 + 11.5 * rng.uniform() * rng.uniform()));
  }
  const double waiting = 0.5 * static_cast<double>(rng.below(3));
  return {workload, devices, costs, waiting, rng.below(2) == 0};
}

Workload many_tables(Rng& rng, std::int64_t count) {
  Workload workload;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto dim = static_cast<std::int32_t>(8 << rng.below(4));
    workload.tables.push_back(make_table(rng.between(10, 400), dim, rng.uniform() * 40));
  }
  return workload;
}

std::int64_t total_bytes(const Workload& workload) {
  std::int64_t total = 0;
  for (const Table& table : workload.tables) total += table_bytes(table);
  return total;
}

}  // namespace neuroshard::test
