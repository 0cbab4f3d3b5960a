#include "apps/commands/written_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/bytes.h"
#include "engine/core/plan_bytes.h"
#include "io/formats/plan_export.h"
#include "io/plans/plan_tables.h"

namespace neuroshard::apps {
namespace {

/// Memory per device that a plan of whole tables, which every format has a place for, makes do
/// with: no limit changes a greedy plan that stays below it. kInfeasible: a table may not be whole.
Result<std::int64_t> memory_for_whole_tables(const Workload& workload, Cluster cluster,
                                             const CostModels& models) {
  cluster.memory_bytes = workload_bytes(workload);
  PlanOptions options;
  options.algorithm = "size-greedy";
  NEUROSHARD_ASSIGN_OR_RETURN(const PlanResult whole,
                              make_plan(workload, cluster, models, options));
  const std::vector<std::int64_t> bytes = device_bytes(workload, whole.plan);
  return *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace

Status put_as_written(std::string_view format, const Workload& workload, const CostModels& models,
                      PlanResult& result) {
  Plan written = io::plan_as_written(format, result.plan);
  if (written == result.plan) return {};
  result.plan = std::move(written);
  NEUROSHARD_ASSIGN_OR_RETURN(result.cost, simulate(workload, result.plan, models));
  return {};
}

Status check_joined_columns(std::string_view format, const Workload& workload, const Plan& plan) {
  return io::check_plan_sharding(workload, plan)
      .with_context("columns on a device joined as " + std::string(format) + " has them");
}

Result<std::string> text_of(ExportFlags& flags, const LoadedWorkload& loaded,
                            const Cluster& cluster, const NamedCostModels& models,
                            const PlanResult& result, std::uint64_t seed,
                            io::PlanDocument document) {
  document.plan = result.plan;
  document.batch_size = loaded.workload.batch_size;
  document.buffers = loaded.workload.buffers;
  document.cost = result.cost;
  document.provenance = provenance_of(models, loaded.sha256, result.algorithm, seed);
  flags.options.memory_limit = cluster.memory_bytes;
  flags.options.cost_origin = describe_costs(models, cluster.devices);
  return io::export_plan(flags.format, loaded.workload, document, flags.options);
}

Result<PlanResult> cheapest_writable(std::string_view format, const Workload& workload,
                                     const Cluster& cluster, const CostModels& models,
                                     const std::vector<ComparedPlan>& plans, const Status& refused,
                                     const Refusal& refusal) {
  std::optional<PlanResult> cheapest;
  for (const ComparedPlan& plan : plans) {
    if (!plan.result.ok()) continue;
    PlanResult result = *plan.result;
    NEUROSHARD_RETURN_IF_ERROR(put_as_written(format, workload, models, result));
    if (!refusal(result).ok()) continue;
    if (!cheapest || result.cost.cost_ms < cheapest->cost.cost_ms) cheapest = std::move(result);
  }
  if (cheapest) return *std::move(cheapest);
  const std::string none =
      refused.message() + "; no plan found that " + std::string(format) + " has a place for: ";
  const auto bytes = memory_for_whole_tables(workload, cluster, models);
  if (bytes.status().code() == StatusCode::kInfeasible) {
    return infeasible(none + "allowing all tables whole would do");
  }
  NEUROSHARD_RETURN_IF_ERROR(bytes.status());
  return infeasible(none + format_bytes_at_least(*bytes) +
                    " of memory per device would do, with whole tables");
}

}  // namespace neuroshard::apps
