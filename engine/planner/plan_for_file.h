#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/planner/planner.h"

// Trainers run what their files hold. TrainerRules keep a search to what such a file can hold as a
// rule; here a plan is put as its file has it, and where the file has no place for that one,
// another algorithm's plan may do.

namespace neuroshard {

/// The file that a plan is for. Which format it is in is nothing to the planner.
struct PlanFile {
  std::string format;  ///< for messages
  /// The plan that the file holds, which is canonical.
  std::function<Plan(Plan)> as_written;
  /// Why it has no place for a plan, put as it would be written; OK when it has.
  std::function<Status(const PlanResult&)> refusal;
};

/// A plan that a walk offers its PlanSink, put as the file holds it; with equal blocks where the
/// trainer's tables have them, which walks do not lay themselves. Nothing where they do not divide.
std::optional<Plan> offered_as_written(const PlanFile& file, const Workload& workload,
                                       const TrainerRules& trainer, Plan plan);

/// make_plan(), put as the file holds it, with the costs it has so. Of a plan with hot rows that
/// the file has no place for, another one is searched without, in what is left of the time limit;
/// an evaluation limit is that of each of the two. PlanResult::hot_rows_refused then says why.
Result<PlanResult> make_plan_for(const PlanFile& file, const Workload& workload,
                                 const Cluster& cluster, const CostModels& models,
                                 const PlanOptions& options);

/// A plan in place of one that the file has no place for.
struct PlanInstead {
  PlanResult plan;                   ///< as written
  std::vector<ComparedPlan> others;  ///< what the algorithms found that were asked beside its own
};

/// The cheapest of the baselines' plans that the file has a place for. Each baseline gets the time
/// that `best`, which was made for the file, has taken, at least a second; where time ended that
/// search, this plan is called stopped early too, as another run's may be one to write. `refused`
/// is why the file has no place for `best`. A time limit of the options is that of all baselines
/// together: those that come when it is over have a moment. Errors: `refused` where the caller
/// asked to stop; kCancelled where time ended all that might have found one; kInfeasible, with the
/// memory per device that would do, where none of the plans can be written; those of
/// compare_plans().
Result<PlanInstead> plan_instead(const PlanFile& file, const Workload& workload,
                                 const Cluster& cluster, const CostModels& models,
                                 const PlanOptions& options, const PlanResult& best,
                                 const Status& refused);

/// Whether a plan that runs could go on running: it has all tables, and the memory for them.
bool could_stay(const Workload& workload, const Plan& now, const Cluster& cluster);

/// replan() from `now`, which is as the file holds it, put as the file holds it.
Result<PlanResult> replan_for(const PlanFile& file, const Workload& workload,
                              const Cluster& cluster, const CostModels& models, const Plan& now,
                              const MoveLimit& limit, const PlanOptions& options);

/// `now` in place of `best`, which replan_for() made and which the file has no place for:
/// `refused` says why. Errors: `refused` where that plan could not stay; why the file has no place
/// for that one, either.
Result<PlanResult> now_instead(const PlanFile& file, const Workload& workload,
                               const Cluster& cluster, const CostModels& models, const Plan& now,
                               const PlanResult& best, const Status& refused);

}  // namespace neuroshard
