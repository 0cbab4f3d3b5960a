#include "apps/commands/target_file.h"

#include <utility>

#include "apps/commands/written_plan.h"
#include "io/formats/plan_export.h"

namespace neuroshard::apps {

PlanFile target_file(const std::string& target, const LoadedWorkload& loaded, const Cluster& like,
                     const NamedCostModels& models) {
  if (target.empty()) {
    return {"json", [](Plan plan) { return plan; }, [](const PlanResult&) { return Status(); }};
  }
  const auto refusal = [target, &loaded, like, &models](const PlanResult& result) -> Status {
    const Workload& workload = loaded.workload;
    NEUROSHARD_RETURN_IF_ERROR(io::check_as_written(target, workload, result.plan));
    Cluster cluster = like;
    cluster.devices = result.plan.devices;
    io::PlanExportOptions written;
    written.table_modules = loaded.modules;
    const std::int32_t each = like.devices_per_host;
    if (each > 0 && cluster.devices % each == 0) written.devices_per_host = each;
    return io::check_runs(target, workload, document_of(loaded, cluster, models, result, 0),
                          written);
  };
  return {target, [target](Plan plan) { return io::plan_as_written(target, std::move(plan)); },
          refusal};
}

}  // namespace neuroshard::apps
