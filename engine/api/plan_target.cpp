#include "engine/api/plan_target.h"

#include <utility>

#include "engine/planner/plan_for_file.h"
#include "io/formats/plan_export.h"
#include "io/text.h"

namespace neuroshard::api {
namespace {

/// Why an export of the plan would be refused.
Status export_refusal(const PlanTarget& target, const io::PlanExportOptions& options,
                      const Workload& tables, StepBuffers buffers, const PlanResult& result) {
  NEUROSHARD_RETURN_IF_ERROR(io::check_as_written(target.format, tables, result.plan));
  io::PlanDocument document;
  document.plan = result.plan;
  document.batch_size = tables.batch_size;
  document.buffers = buffers;
  document.cost = result.cost;
  return io::export_plan(target.format, tables, document, options).status();
}

}  // namespace

Status check_target(const PlanTarget& target) {
  if (target.format.empty() || io::find_plan_format(target.format) != nullptr) return {};
  return invalid_input("options.target: found " + io::excerpt(target.format) +
                       ", expected one of " + io::plan_format_names());
}

Result<PlanResult> plan_for_target(const PlanTarget& target, const neuroshard_workload& workload,
                                   const Cluster& cluster, const CostModels& models,
                                   const PlanOptions& options,
                                   const std::function<void(const std::string&)>& warn) {
  const Workload& tables = workload.workload;
  if (target.format.empty()) return make_plan(tables, cluster, models, options);
  io::PlanExportOptions written;
  written.table_modules = workload.modules;
  written.devices_per_host = target.devices_per_host;
  NEUROSHARD_RETURN_IF_ERROR(io::check_exportable(target.format, tables, cluster.devices, written));
  const PlanFile file{
      target.format, [&](Plan plan) { return io::plan_as_written(target.format, std::move(plan)); },
      [&](const PlanResult& result) {
        return export_refusal(target, written, tables, cluster.buffers, result);
      }};
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult best,
                              make_plan_for(file, tables, cluster, models, options));
  const Status refused = file.refusal(best);
  if (refused.ok()) return best;
  if (refused.code() != StatusCode::kInvalidInput || !target.any_algorithm) return refused;
  NEUROSHARD_ASSIGN_OR_RETURN(PlanInstead instead,
                              plan_instead(file, tables, cluster, models, options, best, refused));
  warn(target.format + " has no place for the plan of " + best.algorithm + " (" +
       refused.message() + "): this is that of " + instead.plan.algorithm);
  return std::move(instead.plan);
}

}  // namespace neuroshard::api
