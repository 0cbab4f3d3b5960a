#include "engine/planner/robust/worst_of_models.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/cost_model/capabilities.h"

namespace neuroshard {
namespace {

/// What the exchanges of a plan take the slowest device; 0 where a device's costs have them.
double exchange_ms(const CostModels& models, const PlanCost& cost) {
  if (capabilities(models).additive) return 0;
  double compute_ms = 0;
  for (const DeviceCost& one : cost.per_device) compute_ms = std::max(compute_ms, one.compute_ms);
  return cost.cost_ms - compute_ms;
}

}  // namespace

CostModels worst_of_models(std::span<const CostModels* const> models,
                           std::span<const PlanCost> costs, std::span<const double> best_ms) {
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < models.size(); ++k) order.push_back(k);
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t k) { return !capabilities(*models[k]).additive; });
  const std::size_t first = order.front();
  const double first_ms = exchange_ms(*models[first], costs[first]);
  CostModels all;
  for (const std::size_t k : order) {
    const double scale = best_ms[k] > 0 ? best_ms[first] / best_ms[k] : 1;
    all.worst_of.push_back(
        {models[k], scale, scale * exchange_ms(*models[k], costs[k]) - first_ms});
  }
  return all;
}

}  // namespace neuroshard
