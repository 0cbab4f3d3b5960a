#pragma once

#include <vector>

#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// Derivatives of a plan's cost, a value a device.
struct PlanSlopes {
  std::vector<double> per_compute;  ///< ms of the plan per ms of the device's compute
  std::vector<double> per_dim;      ///< ms of the plan per dim of the device
};

/// Those around a plan, by probe_response(). A plan costs what its slowest device costs, so that
/// all others would have none: each largest value of a device is taken for a soft one, in which a
/// device counts e times less for every `softness` of the largest that it is below it.
PlanSlopes plan_slopes(const PlanBatch& plan, const PlanEvaluator& evaluator, double softness,
                       Scratch& scratch);

}  // namespace neuroshard::search
