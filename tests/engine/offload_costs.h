#pragma once

#include <memory>

#include "engine/core/plan.h"
#include "engine/core/plan_bytes.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/offload/kernel_costs.h"
#include "search/problem.h"

namespace neuroshard::test {

/// TorchRec's formula with its own bandwidths.
inline const CostModels& formula() {
  static const CostModels models = load_cost_models("torchrec").value().models;
  return models;
}

/// Costs by that formula, with columns and even blocks of rows, and what they are made from. The
/// workload must outlive it.
class OffloadCosts {
 public:
  OffloadCosts(const Workload& workload, const Cluster& cluster)
      : cluster_(cluster),
        problem_(workload, cluster_),
        costs_(problem_, formula(), {true, {.blocks = cluster.devices}}),
        evaluator_(make_evaluator(formula(), workload, cluster.devices).value()) {}
  OffloadCosts(const OffloadCosts&) = delete;
  OffloadCosts& operator=(const OffloadCosts&) = delete;

  operator const KernelCosts&() const { return costs_; }  // NOLINT: it is what tests hand over
  [[nodiscard]] const KernelCosts& get() const { return costs_; }
  [[nodiscard]] CostEvaluator& evaluator() const { return *evaluator_; }

 private:
  const Cluster cluster_;
  const search::Problem problem_;
  const KernelCosts costs_;
  const std::unique_ptr<CostEvaluator> evaluator_;
};

inline PlanCost torchrec_cost(const Workload& workload, const Plan& plan) {
  PlanCost cost = make_evaluator(formula(), workload, plan.devices).value()->evaluate(plan);
  set_bytes(workload, plan, StepBuffers::kOff, cost);
  return cost;
}

}  // namespace neuroshard::test
