#include "apps/commands/target_file.h"

#include <utility>

#include "apps/commands/written_plan.h"
#include "io/formats/plan_export.h"

namespace neuroshard::apps {

Status check_target_runs(const std::string& target, const LoadedWorkload& loaded,
                         const Cluster& cluster, const NamedCostModels& models,
                         const PlanResult& result, const io::PlanExportOptions& options) {
  const Workload& workload = loaded.workload;
  NEUROSHARD_RETURN_IF_ERROR(io::check_as_written(target, workload, result.plan));
  return io::check_runs(target, workload, document_of(loaded, cluster, models, result, 0), options);
}

PlanFile target_file(const std::string& target, const LoadedWorkload& loaded, const Cluster& like,
                     const NamedCostModels& models) {
  const auto refusal = [target, &loaded, like, &models](const PlanResult& result) {
    Cluster cluster = like;
    cluster.devices = result.plan.devices;
    io::PlanExportOptions written;
    written.table_modules = loaded.modules;
    const std::int32_t each = like.devices_per_host;
    if (each > 0 && cluster.devices % each == 0) written.devices_per_host = each;
    return check_target_runs(target, loaded, cluster, models, result, written);
  };
  return {target, [target](Plan plan) { return io::plan_as_written(target, std::move(plan)); },
          refusal};
}

}  // namespace neuroshard::apps
