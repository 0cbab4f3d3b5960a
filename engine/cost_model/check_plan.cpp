#include "engine/cost_model/check_plan.h"

#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/capability_words.h"
#include "engine/cost_model/torchrec_rows.h"

namespace neuroshard {

Status check_plan(const CostModels& models, const Workload& workload, const Plan& plan) {
  if (!capabilities(models).replicas) {
    NEUROSHARD_RETURN_IF_ERROR(
        check_no_replicas(plan, torchrec_alone("knows data-parallel tables")));
  }
  if (!models.torchrec) return {};  // networks guess
  const std::int32_t each = host_devices(*models.torchrec, plan.devices);
  return dealt_columns(workload, plan, each).status();
}

}  // namespace neuroshard
