#include "tests/search/fused_evaluator.h"

#include <algorithm>
#include <cmath>

namespace neuroshard::test {

FusedEvaluator::State FusedEvaluator::addend_of(std::size_t table, float share) const {
  const float cost = table_costs_[table] * (0.3f + 0.7f * share);
  return {cost, cost * cost, 1, -cost, 0, 0, 0, 0};
}

float FusedEvaluator::cost_of_state(const float* state) const {
  return 0.1f + 0.8f * state[0] + 0.2f * std::sqrt(std::max(state[1], 0.0f)) + 0.02f * state[2] +
         0.001f * std::max(state[3] + 20, 0.0f);
}

void FusedEvaluator::plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                                search::Scratch& scratch) const {
  std::vector<double> ready(batch.compute_ms.size());
  std::vector<double> total(batch.compute_ms.size());
  plan_details(batch, {ready, total}, scratch);
  const auto devices = static_cast<std::ptrdiff_t>(this->devices());
  for (std::size_t plan = 0; plan < costs.size(); ++plan) {
    const auto begin = total.begin() + static_cast<std::ptrdiff_t>(plan) * devices;
    costs[plan] = *std::max_element(begin, begin + devices);
  }
}

void FusedEvaluator::plan_details(const search::PlanBatch& batch,
                                  const search::PlanDetails& details, search::Scratch&) const {
  const auto devices = static_cast<std::size_t>(this->devices());
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

}  // namespace neuroshard::test
