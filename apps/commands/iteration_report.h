#pragma once

#include <cstdint>
#include <string>

#include "apps/console/console.h"
#include "engine/core/cost_error.h"
#include "engine/core/plan.h"
#include "engine/iteration/iteration_cost.h"

namespace neuroshard::apps {

/// Everything there is to report of a training step.
struct IterationOutcome {
  IterationCost cost;
  CostError error;
  Plan plan;
  std::string made_by;  ///< the plan, where the command made it; "" for one that was given
  std::int64_t batch_size = 0;
  std::int32_t devices_per_host = 0;
  std::string hardware;     ///< "H100-80G, nvswitch"
  std::string description;  ///< of its profile
  bool calibrated = false;  ///< whether constants of its dense layers were fitted
  std::string plan_sha256;  ///< "" for one that the command made
  std::string tables_sha256;
  std::string model_sha256;
};

/// What people see.
std::string iteration_report(const Console& console, const IterationOutcome& outcome);
/// The `neuroshard-iteration` file.
std::string iteration_json(const IterationOutcome& outcome);

}  // namespace neuroshard::apps
