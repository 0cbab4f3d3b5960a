#include "engine/cost_model/check_plan.h"

#include "engine/core/hot_rows.h"
#include "engine/core/offload.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/capability_words.h"
#include "engine/cost_model/torchrec_rows.h"

namespace neuroshard {
namespace {

Status check_fused(const Workload& workload, const Plan& plan) {
  const std::vector<OffloadedTable> offloaded = offloaded_tables(plan);
  if (offloaded.empty()) return {};
  return invalid_input(
      table_label(workload, offloaded.front().table) + ": found the kernel " +
      std::string(to_string(offloaded.front().kernel.kernel)) +
      ", networks have learned fused ones: " + torchrec_alone("knows host memory"));
}

}  // namespace

Status check_plan(const CostModels& models, const Workload& workload, const Plan& plan,
                  std::int32_t devices_per_host) {
  for (const ModelInWorst& one : models.worst_of) {
    NEUROSHARD_RETURN_IF_ERROR(check_plan(*one.models, workload, plan, devices_per_host));
  }
  if (!capabilities(models).replicas) {
    NEUROSHARD_RETURN_IF_ERROR(check_no_replicas(plan, when_replicas_are_known()));
  }
  if (!capabilities(models).hot_rows) {
    NEUROSHARD_RETURN_IF_ERROR(check_no_hot_rows(plan, when_hot_rows_are_known()));
  }
  if (!capabilities(models).host_memory) {
    NEUROSHARD_RETURN_IF_ERROR(check_fused(workload, plan));
  }
  if (!models.torchrec) return {};  // networks guess
  const std::int32_t each =
      host_devices(torchrec_costs(*models.torchrec, devices_per_host), plan.devices);
  return dealt_columns(workload, plan, each).status();
}

}  // namespace neuroshard
