#include "engine/api/plan_target.h"

#include <utility>

#include "engine/planner/plan_for_file.h"
#include "io/formats/plan_export.h"
#include "io/formats/plan_lint.h"
#include "io/text.h"

namespace neuroshard::api {
namespace {

/// Why an export of the plan, or of its cold rows, would be refused; `document` has what its file
/// says beside shards.
Status export_refusal(const PlanTarget& target, const io::PlanExportOptions& options,
                      const Workload& tables, io::PlanDocument document, const PlanResult& result) {
  NEUROSHARD_RETURN_IF_ERROR(io::check_as_written(target.format, tables, result.plan));
  document.plan = result.plan;
  document.cost = result.cost;
  return io::check_runs(target.format, tables, document, options);
}

/// The target's file of plans for the workload. All that it is made of has to outlive it.
Result<PlanFile> file_of(const PlanTarget& target, const neuroshard_workload& workload,
                         const Cluster& cluster, const io::TrainerPlaces& places) {
  io::PlanExportOptions written;
  written.table_modules = workload.modules;
  written.devices_per_host = cluster.devices_per_host;
  const Workload& tables = workload.workload;
  NEUROSHARD_RETURN_IF_ERROR(
      io::check_exportable(target.format, tables, cluster.devices, written, cluster.exchange));
  io::PlanDocument document;
  document.batch_size = tables.batch_size;
  document.buffers = cluster.buffers;
  document.exchange = cluster.exchange;
  document.places = places;
  return PlanFile{
      target.format,
      [&target](Plan plan) { return io::plan_as_written(target.format, std::move(plan)); },
      [&target, &tables, written, document](const PlanResult& result) {
        return export_refusal(target, written, tables, document, result);
      }};
}

/// One of our own, which has a place for every plan.
PlanFile any_file() {
  return {std::string(io::kNativeFormat),
          [](Plan plan) { return io::plan_as_written(io::kNativeFormat, std::move(plan)); },
          [](const PlanResult&) { return Status(); }};
}

/// The plan that runs, as the target's file has it.
Plan as_it_runs(const PlanTarget& target, const PlanFile& file, const Plan& now,
                const std::function<void(const std::string&)>& warn) {
  Plan runs = file.as_written(now);
  if (runs != now) {
    warn(target.format +
         " has blocks of a table that are on one device joined: that is the plan that runs");
  }
  return runs;
}

void warn_of_refused_hot_rows(const PlanTarget& target, const PlanResult& best,
                              const std::function<void(const std::string&)>& warn) {
  if (best.hot_rows_refused.empty()) return;
  warn("options.hot_rows: " + target.format + " does not run the plan found (" +
       best.hot_rows_refused + "), this one is without");
}

}  // namespace

Status check_target(const PlanTarget& target) {
  if (target.format.empty()) return {};
  std::string known;
  for (const std::string& trainer : io::lint_targets()) {
    if (target.format == trainer) return {};
    known += (known.empty() ? "" : ", ") + trainer;
  }
  return invalid_input("options.target: found " + io::excerpt(target.format) +
                       ", expected one of " + known);
}

Result<PlanResult> plan_for_target(const PlanTarget& target, const neuroshard_workload& workload,
                                   const Cluster& cluster, const CostModels& models,
                                   const PlanOptions& options,
                                   const std::function<void(const std::string&)>& warn) {
  const Workload& tables = workload.workload;
  if (target.format.empty()) return make_plan(tables, cluster, models, options);
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanFile file, file_of(target, workload, cluster, {}));
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult best,
                              make_plan_for(file, tables, cluster, models, options));
  warn_of_refused_hot_rows(target, best, warn);
  const Status refused = file.refusal(best);
  if (refused.ok()) return best;
  if (refused.code() != StatusCode::kInvalidInput || !target.any_algorithm) return refused;
  NEUROSHARD_ASSIGN_OR_RETURN(PlanInstead instead,
                              plan_instead(file, tables, cluster, models, options, best, refused));
  warn(target.format + " has no place for the plan of " + best.algorithm + " (" +
       refused.message() + "): this is that of " + instead.plan.algorithm);
  return std::move(instead.plan);
}

Result<RobustPlan> robust_plan_for_target(const PlanTarget& target,
                                          const neuroshard_workload& workload,
                                          const Cluster& cluster,
                                          std::span<const CostModels* const> models,
                                          const PlanOptions& options,
                                          const std::function<void(const std::string&)>& warn) {
  const Workload& tables = workload.workload;
  if (target.format.empty()) return make_robust_plan(any_file(), tables, cluster, models, options);
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanFile file, file_of(target, workload, cluster, {}));
  NEUROSHARD_ASSIGN_OR_RETURN(RobustPlan robust,
                              make_robust_plan(file, tables, cluster, models, options));
  warn_of_refused_hot_rows(target, robust.plan, warn);
  return robust;
}

Result<PlanResult> replan_for_target(const PlanTarget& target, const neuroshard_workload& workload,
                                     const Cluster& cluster, const CostModels& models,
                                     const io::PlanDocument& now, const MoveLimit& limit,
                                     const PlanOptions& options,
                                     const std::function<void(const std::string&)>& warn) {
  const Workload& tables = workload.workload;
  if (target.format.empty()) return replan(tables, cluster, models, now.plan, limit, options);
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanFile file, file_of(target, workload, cluster, now.places));
  const Plan runs = as_it_runs(target, file, now.plan, warn);
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult best,
                              replan_for(file, tables, cluster, models, runs, limit, options));
  const Status refused = file.refusal(best);
  if (refused.ok()) return best;
  if (refused.code() != StatusCode::kInvalidInput) return refused;
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult same,
                              now_instead(file, tables, cluster, models, runs, best, refused));
  warn(target.format + " has no place for the plan found (" + refused.message() +
       "): this is the one that runs");
  return same;
}

Result<RobustPlan> robust_replan_for_target(
    const PlanTarget& target, const neuroshard_workload& workload, const Cluster& cluster,
    std::span<const CostModels* const> models, const io::PlanDocument& now, const MoveLimit& limit,
    const PlanOptions& options, const std::function<void(const std::string&)>& warn) {
  const Workload& tables = workload.workload;
  if (target.format.empty()) {
    return make_robust_replan(any_file(), tables, cluster, models, now.plan, limit, options);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanFile file, file_of(target, workload, cluster, now.places));
  const Plan runs = as_it_runs(target, file, now.plan, warn);
  return make_robust_replan(file, tables, cluster, models, runs, limit, options);
}

}  // namespace neuroshard::api
