#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// What several cost models say of plans of one workload, side by side. Not thread-safe.
class CostPanel {
 public:
  /// Errors: as make_evaluator(), and plans that a model cannot be asked about are refused by
  /// costs_of().
  static Result<CostPanel> create(const Workload& workload, const Cluster& cluster,
                                  std::span<const CostModels* const> models);

  [[nodiscard]] const Workload& workload() const { return *workload_; }
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] std::span<const CostModels* const> models() const { return models_; }

  /// By the models' order. Errors: kInvalidInput where one of them does not know such plans.
  Result<std::vector<PlanCost>> costs_of(const Plan& plan);
  /// What each table's shards take a device alone by that model, added up and shared out evenly:
  /// milliseconds of each device, without exchanges but where costs add up. REQUIRES
  /// costs_of(plan) is ok.
  std::vector<double> table_costs(std::size_t model, const Plan& plan);

 private:
  CostPanel(const Workload& workload, const Cluster& cluster)
      : workload_(&workload), cluster_(cluster) {}

  const Workload* workload_;
  Cluster cluster_;
  std::vector<const CostModels*> models_;
  std::vector<std::unique_ptr<CostEvaluator>> evaluators_;
};

/// The largest share by which a model's cost is above its best.
double largest_regret(std::span<const PlanCost> costs, std::span<const double> best_ms);

}  // namespace neuroshard
