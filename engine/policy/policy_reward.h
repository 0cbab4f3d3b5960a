#pragma once

#include <cstdint>
#include <span>

#include "engine/policy/policy_model.h"
#include "search/plan_cost.h"
#include "search/plan_evaluator.h"

namespace neuroshard {

/// Compute of the devices of a plan beside each other.
struct Balance {
  double mean_over_largest = 0;  ///< 1: all the same
  double least_over_largest =
      0;  ///< the same of the least; what AutoShard (KDD 2022) calls balance
};
/// Balanced where no device takes any time. REQUIRES a device; `ms` [devices].
Balance balance_of(std::span<const double> ms);

/// What a policy is trained to make little of, above 0: a plan's milliseconds, or its largest
/// compute of a device over the mean of all. The second knows of no exchange, and making the
/// fastest devices slower counts as much as making the slowest faster.
double penalty_of(PolicyReward reward, const search::PlanEvaluator& evaluator,
                  const search::PlacedPlan& plan, search::Scratch& scratch);

}  // namespace neuroshard
