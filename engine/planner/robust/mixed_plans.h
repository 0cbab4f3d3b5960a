#pragma once

#include <vector>

#include "engine/core/plan.h"
#include "engine/planner/robust/cost_panel.h"

namespace neuroshard {

/// Plans with some tables as `one` has them, which is good by the model `first` of the panel, and
/// the others as `other` has them, good by `second`: those first whose layout there saves the one
/// model most for what it costs the other. As many as make the two models' regrets, added up
/// table by table, equal, and fewer and more. Those that exceed no device's memory, which may be
/// none; their devices have not the same to do. Deterministic.
std::vector<Plan> mixed_plans(CostPanel& panel, std::size_t first, const Plan& one,
                              std::size_t second, const Plan& other,
                              std::span<const double> best_ms);

}  // namespace neuroshard
