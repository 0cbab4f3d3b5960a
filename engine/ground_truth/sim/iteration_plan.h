#pragma once

#include <string>

#include "engine/core/cluster.h"
#include "engine/core/dense_model.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/ground_truth/sim/profile_library.h"

namespace neuroshard {

/// A plan, and the words for how it was made.
struct IterationPlan {
  Plan plan;
  std::string made_by;
};

/// The plan with the shortest simulated iteration among several: make_spread_plan() by every rule,
/// HugeCTR's, and what a short search under TorchRec's formula finds, with and without tables on
/// every device. This is no search under the iteration's time. Deterministic. Errors: those of
/// make_plan() where no plan fits the cluster, those of simulate_iteration().
Result<IterationPlan> plan_iteration(const ChosenProfile& hardware, const Workload& workload,
                                     const Cluster& cluster, const DenseModel& model);

}  // namespace neuroshard
