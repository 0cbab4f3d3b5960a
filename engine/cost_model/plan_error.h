#pragma once

#include <string>

#include "engine/core/cost_error.h"
#include "engine/core/plan.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// How sure `cost`, which these models gave, is: its bottleneck device's compute and exchanges with
/// the error of each, as if all were wrong in the same direction. The error of a part is that of
/// its network on held-out costs and, where these were simulated, that of the simulation against
/// published measurements, which are independent of each other. Not known where a part of the cost
/// comes from a network, or from a simulation, whose error is not.
CostError error_of(const CostModels& models, const PlanCost& cost);

/// "+- 9 %", "+- 0.4 %"; "error not known".
std::string error_text(const CostError& error);

/// Networks whose predictions have no order to plan by, with what to do: "..: its compute costs
/// ..";
/// "" where all are good, or their order is not known.
std::string poor_order(const CostModels& models);

/// A network whose Kendall's tau on held-out costs is no more than this has a poor order: one of
/// ten pairs of costs, or more, is the wrong way round.
inline constexpr double kPoorTau = 0.8;

}  // namespace neuroshard
