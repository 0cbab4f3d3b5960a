#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/move_limit.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/planner/plan_for_file.h"
#include "engine/planner/plan_options.h"

namespace neuroshard {

/// What one of several cost models says of a plan that was made for all of them.
struct RobustCost {
  PlanCost cost;
  double best_ms = 0;  ///< the least that any plan costs by it which this search has seen

  /// How much dearer than the best the plan is, as a share of that: 0.02 is 2 %.
  [[nodiscard]] double regret() const { return best_ms > 0 ? cost.cost_ms / best_ms - 1 : 0; }
};

struct RobustPlan {
  PlanResult plan;  ///< costs are those of the first model
  /// By the models' order, and what each said of the plan that was searched under it alone.
  std::vector<RobustCost> costs;
  std::vector<double> own_ms;
  /// The largest regret of the plan that runs, where one was replanned that could stay.
  std::optional<double> running_regret{};

  [[nodiscard]] double largest_regret() const;
};

/// A plan whose largest regret over these models is the smallest that was found. First the plan of
/// make_plan_for() under each model alone, then as many searches under the worst of their costs at
/// once (CostModels::worst_of): --evaluations and time limits are those of each of these searches.
/// No plan of a single model has a smaller largest regret. Only what all models know is searched:
/// row shards, hot rows, tables on every device; tables are put in host memory under each alone.
/// Same input and seed, same plan, unless stopped_early. Errors: as make_plan(), of the first model
/// that gives one; fewer than two models. Thread-safe.
Result<RobustPlan> make_robust_plan(const PlanFile& file, const Workload& workload,
                                    const Cluster& cluster,
                                    std::span<const CostModels* const> models,
                                    const PlanOptions& options);

/// The same near a plan that runs: replan_for() from `now` under each model and under the worst of
/// their costs. The least that plans cost by a model is that of those which move no more than the
/// limit. Where `now` could stay, it is one of them: then the plan found has no larger regret, and
/// where the file has no place for another, it is that plan. Errors: as replan_for(), of the first
/// model that gives one; why the file has no place for the plan of one, where `now` could not
/// stay; fewer than two models. Thread-safe.
Result<RobustPlan> make_robust_replan(const PlanFile& file, const Workload& workload,
                                      const Cluster& cluster,
                                      std::span<const CostModels* const> models, const Plan& now,
                                      const MoveLimit& limit, const PlanOptions& options);

}  // namespace neuroshard
