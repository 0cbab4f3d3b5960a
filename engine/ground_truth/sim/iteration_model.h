#pragma once

#include "engine/core/cost_error.h"
#include "engine/core/dense_model.h"
#include "engine/core/hardware_profile.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/dense_part.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "engine/iteration/iteration_cost.h"

namespace neuroshard {

/// What a whole training step of the plan and the dense part beside it takes on the chosen
/// hardware, all of it simulated: lookups, exchanges and replicas as simulate_plan() has them, what
/// travels in the model's precision, dense layers of as many samples as the first device has.
/// Deterministic. Errors: those of simulate_plan(), and kInvalidInput where the profile knows
/// nothing of dense layers or the model's interaction does not fit the tables.
Result<IterationCost> simulate_iteration(const ChosenProfile& chosen, const Workload& workload,
                                         const Plan& plan, const DenseModel& model);

/// What of such a step does not depend on where the tables are, by the same simulation: of steps
/// whose devices have the same to look up, one that exchanges nothing and some that exchange long.
/// Errors: as of the model in simulate_iteration(). Deterministic.
Result<DenseTime> simulate_dense_time(const ChosenProfile& chosen, const Workload& workload,
                                      std::int32_t devices, const DenseModel& model);

/// How far such times are from published ones.
CostError iteration_error(const HardwareProfile& profile);

}  // namespace neuroshard
