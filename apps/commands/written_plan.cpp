#include "apps/commands/written_plan.h"

#include <utility>

#include "engine/cost_model/plan_error.h"
#include "io/formats/plan_export.h"

namespace neuroshard::apps {

std::vector<io::CostByModel> costs_by_models(std::span<const NamedCostModels> models,
                                             const RobustPlan& plan) {
  std::vector<io::CostByModel> costs;
  for (std::size_t k = 0; k < models.size(); ++k) {
    const RobustCost& own = plan.costs[k];
    costs.push_back({models[k].name, own.cost.cost_ms, own.best_ms, own.regret()});
  }
  return costs;
}

io::PlanDocument document_of(const LoadedWorkload& loaded, const Cluster& cluster,
                             const NamedCostModels& models, const PlanResult& result,
                             std::uint64_t seed, io::PlanDocument document) {
  document.plan = result.plan;
  document.batch_size = loaded.workload.batch_size;
  document.buffers = cluster.buffers;
  document.exchange = cluster.exchange;
  document.setting.memory_bytes = cluster.memory_bytes;
  document.setting.host_memory_bytes = cluster.host_memory_bytes;
  document.cost = result.cost;
  document.lower_bound_ms = result.lower_bound;
  document.cost_error = error_of(models.models, result.cost);
  document.provenance =
      provenance_of(models, cluster.devices_per_host, loaded.sha256, result.algorithm, seed);
  return document;
}

Result<std::string> text_of(ExportFlags& flags, const LoadedWorkload& loaded,
                            const Cluster& cluster, const NamedCostModels& models,
                            const PlanResult& result, std::uint64_t seed,
                            io::PlanDocument document) {
  document = document_of(loaded, cluster, models, result, seed, std::move(document));
  flags.options.memory_limit = cluster.memory_bytes;
  flags.options.cost_origin = describe_costs(models, cluster.devices);
  return io::export_plan(flags.format, loaded.workload, document, flags.options);
}

}  // namespace neuroshard::apps
