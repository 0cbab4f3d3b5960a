#pragma once

#include <optional>

#include "engine/core/cluster.h"
#include "engine/core/plan.h"
#include "search/plan_evaluator.h"

namespace neuroshard::test {

/// The paper's search as its text reads, without any of the shortcuts of search/: every cap is
/// tried, every child is placed, devices are scanned in index order, loads are computed from
/// scratch. Returns nothing when no plan is feasible.
std::optional<Plan> naive_neuroshard(const Workload& workload, const Cluster& cluster,
                                     search::PlanEvaluator& evaluator);

}  // namespace neuroshard::test
