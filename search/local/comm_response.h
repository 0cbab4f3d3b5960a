#pragma once

#include <cstdint>

#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// How the communication models react to a small change, around one plan. A device is ready after
/// compute and backward exchange; its total is `waiting` times the moment the last device is ready,
/// plus what is its own: all devices wait for the slowest (1), or none does (0). The device with
/// the most dims may make the exchanges of all longer.
struct CommResponse {
  double waiting = 0;
  double ready_per_dim = 0;   ///< ms of a device's ready time per dim more on it
  double own_per_dim = 0;     ///< the same of the rest of its total
  double widest_per_dim = 0;  ///< ms of every device's total per dim more on the widest device
};

/// Measures the response around one plan with three a probed device, put to the evaluator in one
/// batch: single devices get slower or wider.
CommResponse probe_response(const PlanBatch& plan, const PlanEvaluator& evaluator, Scratch& scratch,
                            std::int32_t most_probed = 8);

}  // namespace neuroshard::search
