#include "engine/planner/robust/cost_panel.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/core/plan_bytes.h"
#include "engine/cost_model/check_plan.h"
#include "engine/cost_model/make_evaluator.h"

namespace neuroshard {

Result<CostPanel> CostPanel::create(const Workload& workload, const Cluster& cluster,
                                    std::span<const CostModels* const> models) {
  CostPanel panel(workload, cluster);
  for (const CostModels* one : models) {
    NEUROSHARD_ASSIGN_OR_RETURN(std::unique_ptr<CostEvaluator> evaluator,
                                make_evaluator(*one, workload, cluster.devices,
                                               cluster.devices_per_host, cluster.exchange));
    panel.models_.push_back(one);
    panel.evaluators_.push_back(std::move(evaluator));
  }
  return panel;
}

Result<std::vector<PlanCost>> CostPanel::costs_of(const Plan& plan) {
  std::vector<PlanCost> costs;
  for (std::size_t k = 0; k < models_.size(); ++k) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_plan(*models_[k], *workload_, plan, cluster_.devices_per_host));
    costs.push_back(evaluators_[k]->evaluate(plan));
    set_bytes(*workload_, plan, cluster_.buffers, costs.back());
  }
  return costs;
}

std::vector<double> CostPanel::table_costs(std::size_t model, const Plan& plan) {
  CostEvaluator& evaluator = *evaluators_[model];
  std::vector<double> costs(workload_->tables.size());
  const std::vector<ShardShape> shapes = shapes_of(plan);
  for (const ShardShape& shape : shapes) {
    const double ms = evaluator.shape_cost(evaluator.intern(shape));
    const double everywhere = shape.replicated ? 1 : 1.0 / plan.devices;
    costs[static_cast<std::size_t>(shape.table)] += everywhere * ms;
  }
  return costs;
}

double largest_regret(std::span<const PlanCost> costs, std::span<const double> best_ms) {
  double largest = 0;
  for (std::size_t k = 0; k < costs.size(); ++k) {
    if (best_ms[k] > 0) largest = std::max(largest, costs[k].cost_ms / best_ms[k] - 1);
  }
  return largest;
}

}  // namespace neuroshard
