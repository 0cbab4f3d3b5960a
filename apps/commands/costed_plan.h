#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/commands/plan_input.h"
#include "apps/flags/dense_model_flags.h"
#include "apps/flags/flags.h"
#include "engine/cost_model/shipped_models.h"
#include "io/plans/plan_file.h"

namespace neuroshard::apps {

/// A plan, its tables, what its devices have and what says its costs.
struct CostedPlanFlags {
  PlanInputFlags input;
  std::int64_t memory_bytes = 0;
  std::optional<std::string> buffers{};
  std::string cost_model = kDefaultCostModel;
  std::int32_t devices_per_host = 0;
  TorchRecBandwidths bandwidths{};
  std::optional<std::string> exchange{};
  DenseModelFlags dense{};
};
void declare_costed_plan(FlagSet& flags, CostedPlanFlags* out);

/// A plan that fits its devices, with the costs that the models give it.
struct CostedPlan {
  PlanAndTables input;
  io::PlanDocument document;
  NamedCostModels models;
  std::int32_t devices_per_host;  ///< that the costs are of, as in a Cluster

  [[nodiscard]] const Workload& workload() const { return input.loaded.workload; }
};
/// Remarks go to standard error. Errors name the plan's file: kInfeasible for a device beyond its
/// memory, else as bind() and costs_of().
Result<CostedPlan> load_costed_plan(const FlagSet& flags, const CostedPlanFlags& given);

}  // namespace neuroshard::apps
