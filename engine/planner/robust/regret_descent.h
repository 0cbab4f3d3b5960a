#pragma once

#include <cstdint>
#include <functional>
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

/// What a descent keeps to beside the tables' own limits.
struct DescentRules {
  bool row_shards = true;       ///< whether it may make any
  bool whole_tables = false;    ///< whether it may make nothing but whole tables
  std::int64_t walk_steps = 0;  ///< random ones before it descends
  std::uint64_t seed = 0;       ///< of these
  /// Whether it has to end, after so many plans costed.
  std::function<bool(std::int64_t evaluations)> stop;
};

struct Descended {
  Plan plan;
  std::vector<PlanCost> costs;
  std::int64_t evaluations = 0;
};

/// Changes `start`, a plan that fits: first by a random walk, as simulated annealing takes it, then
/// one step at a time, each of which makes the largest regret smaller, until none does or the rules
/// say so. Steps are of tables on the bottleneck device of
/// the model with the largest regret, which decide it: another layout (for_each_other_layout()),
/// that of one of `others`, or a shard changes places with one on another device. Replicas and
/// tables in host memory stay as they are, unless one of `others` has them otherwise. REQUIRES
/// panel.costs_of(start) is ok. Deterministic but for `stop`.
Descended regret_descent(CostPanel& panel, const Plan& start, std::span<const Plan> others,
                         std::span<const double> best_ms, const DescentRules& rules);

}  // namespace neuroshard
