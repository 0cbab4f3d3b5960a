#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/ground_truth/ground_truth.h"
#include "engine/policy/policy_model.h"
#include "engine/training/train.h"

namespace neuroshard {

/// Columns of a table, which cost what a table as narrow does.
struct MeasuredColumns {
  std::int32_t table = 0;  ///< index of the pool
  std::int32_t dim = 0;

  friend bool operator==(const MeasuredColumns&, const MeasuredColumns&) = default;
};

/// What each device of a plan has.
using DeviceColumns = std::vector<std::vector<MeasuredColumns>>;

/// A device of a plan that was measured, milliseconds.
struct MeasuredDevice {
  std::vector<MeasuredColumns> columns;
  double compute_ms = 0;   ///< lookups, forward and backward
  double forward_ms = 0;   ///< of the exchange, waiting included
  double backward_ms = 0;  ///< of the exchange

  friend bool operator==(const MeasuredDevice&, const MeasuredDevice&) = default;
};

/// A whole plan that was measured, as what cost networks learn from: the lookups of every device,
/// and the exchange between them.
struct MeasuredPlan {
  std::vector<MeasuredDevice> devices;
  double predicted_ms = 0;  ///< its cost by the networks that it was drawn by; 0 without any

  friend bool operator==(const MeasuredPlan&, const MeasuredPlan&) = default;
};

/// The slowest device's cost, milliseconds. REQUIRES a device.
double measured_ms(const MeasuredPlan& plan);

/// Measures each device in turn and then their exchange, as measure_plan() does; nothing is
/// predicted. Errors: the ground truth's.
Result<MeasuredPlan> measure_columns(GroundTruth& truth, const Workload& pool,
                                     const DeviceColumns& plan);

/// Whether such a plan of such tasks of the pool may have been measured: the number of devices,
/// tables and dims that there are, costs that a device with lookups has. Error: kInvalidInput,
/// naming what is not so.
Status check_measured_plan(const MeasuredPlan& plan, const Workload& pool,
                           const PolicyTasks& tasks);

/// Networks fitted to plans of the pool, in this order; a function of the plans, not of when they
/// were measured. `truth` says of what hardware they are. Errors: kInvalidInput for too few plans
/// to learn from; kCancelled.
Result<CostModels> fit_costs(const GroundTruth& truth, const Workload& pool,
                             std::span<const MeasuredPlan> plans, std::uint64_t seed,
                             const TrainControl& control);

}  // namespace neuroshard
