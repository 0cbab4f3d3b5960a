#pragma once

#include <functional>
#include <span>
#include <string>

#include "engine/api/handles.h"
#include "engine/core/cluster.h"
#include "engine/planner/planner.h"
#include "engine/planner/robust/robust_plan.h"

// Plans that are searched for a trainer's file.

namespace neuroshard::api {

/// The file that a plan is for.
struct PlanTarget {
  std::string format;  ///< of io::lint_targets(); empty: none, every plan will do
  /// Whether another algorithm's plan will do where the file has no place for the best one.
  bool any_algorithm = false;
};

/// kInvalidInput unless the format is empty or a trainer's that has rules.
Status check_target(const PlanTarget& target);

/// make_plan(), but a plan that can be exported in the target's format, put as that has it.
/// `warn` is told of a plan of another algorithm. Errors: also kInvalidInput, where the format has
/// no place for the tables, or for the plan of an algorithm that was asked for; kInfeasible, where
/// it has none for any plan found.
Result<PlanResult> plan_for_target(const PlanTarget& target, const neuroshard_workload& workload,
                                   const Cluster& cluster, const CostModels& models,
                                   const PlanOptions& options,
                                   const std::function<void(const std::string&)>& warn);

/// make_robust_plan(), likewise, but no plan of another algorithm. `warn` is told where hot rows
/// are left out because the format has no place for them. Errors: also kInvalidInput,
/// where the format has no place for the tables, or for the plan of one of the models alone.
Result<RobustPlan> robust_plan_for_target(const PlanTarget& target,
                                          const neuroshard_workload& workload,
                                          const Cluster& cluster,
                                          std::span<const CostModels* const> models,
                                          const PlanOptions& options,
                                          const std::function<void(const std::string&)>& warn);

/// replan() from the plan of `now`, put as the target's file has it, to one that can be exported so
/// with what else `now` says of the trainer. `warn` is told where `now` is put so, and where it
/// stays because the format has no place for the plan found. Errors: also kInvalidInput, where it
/// has none for either.
Result<PlanResult> replan_for_target(const PlanTarget& target, const neuroshard_workload& workload,
                                     const Cluster& cluster, const CostModels& models,
                                     const io::PlanDocument& now, const MoveLimit& limit,
                                     const PlanOptions& options,
                                     const std::function<void(const std::string&)>& warn);

/// make_robust_replan(), likewise. `warn` is told where `now` is put as the target's file has it.
/// Errors: also kInvalidInput, where the format has no place for the plan of one of the models, and
/// the plan that runs may not stay.
Result<RobustPlan> robust_replan_for_target(
    const PlanTarget& target, const neuroshard_workload& workload, const Cluster& cluster,
    std::span<const CostModels* const> models, const io::PlanDocument& now, const MoveLimit& limit,
    const PlanOptions& options, const std::function<void(const std::string&)>& warn);

}  // namespace neuroshard::api
