#pragma once

#include <string>
#include <vector>

#include "apps/commands/plan_request.h"
#include "engine/core/status.h"
#include "engine/planner/planner.h"
#include "engine/planner/robust/robust_plan.h"

namespace neuroshard::apps {

/// What `plan` found.
struct FoundPlan {
  PlanResult best;
  RobustPlan robust;                 ///< with --robust; else empty
  std::vector<ComparedPlan> others;  ///< what else was searched for the trainer's file, if anything
  /// The file, "" where none is asked for; or why the trainer or the file has no place for the
  /// plan.
  Result<std::string> text = std::string();
};

/// Searches the plan that the request asks for, whose cluster then has its exchange format. Where
/// the trainer does not run what the algorithm found, other plans are looked for, and remarks on
/// standard error say so. Errors: those of the searches, with the flags that help; kInvalidInput
/// where the trainer or the file has no place for the plan of --algorithm.
Result<FoundPlan> search_plan(const FlagSet& flags, const PlanInputs& inputs, PlanRequest& request);

/// The file of the plan, with what was found beside it. Errors: kInvalidInput where the trainer or
/// the file has no place for it.
Result<std::string> plan_text(const PlanInputs& inputs, const PlanResult& best,
                              const RobustPlan& robust, const std::vector<ComparedPlan>& others,
                              PlanRequest& request);

}  // namespace neuroshard::apps
