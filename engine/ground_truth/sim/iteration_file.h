#pragma once

#include <cstdint>
#include <string>

#include "engine/core/cost_error.h"
#include "engine/core/dense_model.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "engine/iteration/iteration_cost.h"

namespace neuroshard {

/// Everything there is to report of a training step.
struct IterationOutcome {
  IterationCost cost;
  CostError error;
  Plan plan;
  std::string made_by;  ///< the plan, where it was made for this; "" for one that was given
  std::int64_t batch_size = 0;
  std::int32_t devices_per_host = 0;
  std::string hardware;     ///< "H100-80G, nvswitch"
  std::string description;  ///< of its profile
  bool calibrated = false;  ///< whether constants of its dense layers were fitted
  std::string plan_sha256;  ///< "" for one that is no file
  std::string tables_sha256;
  std::string model_sha256;
};

/// simulate_iteration() with what there is to say of it; the sha256 are left empty. Errors: those
/// of simulate_iteration().
Result<IterationOutcome> simulate_outcome(const ChosenProfile& hardware, const Workload& workload,
                                          Plan plan, const DenseModel& model);

/// The `neuroshard-iteration` file.
std::string iteration_json(const IterationOutcome& outcome);

}  // namespace neuroshard
