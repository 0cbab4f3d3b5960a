#pragma once

#include <span>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/ground_truth/ground_truth.h"
#include "io/cost_data/cost_data.h"

namespace neuroshard {

struct MeasureOptions {
  /// Whether the ground truth can run an all-to-all of the plan's devices; when not, communication
  /// comes from `models`.
  bool measure_comm = false;
  const CostModels* models = nullptr;  ///< not owned; needed unless measure_comm
  ProgressSink* progress = nullptr;    ///< not owned; may be null
};

/// What a plan cost when it was run.
struct PlanMeasurement {
  PlanCost cost;  ///< compute is measured; communication is when `comm_measured`
  bool comm_measured = false;
  bool at_once = false;  ///< every device on hardware of its own, all of them at the same time
  std::vector<ComputeTime> compute;  ///< per device: the two directions apart
  /// Of plans with hot rows, per device: bytes that a step receives of others, of sums of cold rows
  /// and their gradients, and to add up gradients of hot rows.
  std::vector<std::int64_t> exchanged_bytes{};
  std::vector<std::int64_t> reduced_bytes{};
};

/// When devices start the forward exchange that compute so long and whose backward exchange takes
/// so long: one after the other, as starts less the earliest. REQUIRES a value for each device.
std::vector<double> forward_starts(std::span<const double> compute_ms,
                                   std::span<const double> backward_ms);

/// Both ways of one exchange between devices that compute so long: the backward one from a common
/// start, the forward one as forward_starts() says. REQUIRES a compute time for each device.
/// Errors: the ground truth's.
Result<io::CommSample> measure_exchange(GroundTruth& truth, std::vector<std::int64_t> dims,
                                        std::span<const double> compute_ms,
                                        std::int64_t batch_size);

/// kInvalidInput when the plan does not cover the workload, has a replicated table, or has one in
/// host memory.
Status check_measurable_with_hot_rows(const Workload& workload, const Plan& plan);
/// The same, and when it has hot rows, which measure_hot_plan() runs.
Status check_measurable(const Workload& workload, const Plan& plan);
std::vector<Shard> shards_of(const Plan& plan, std::int32_t device);
/// Memory and dims of every device; no times. REQUIRES check_measurable.
PlanMeasurement not_yet_measured(const Workload& workload, const Plan& plan);

/// Runs the shards of each device of `plan` in turn on the ground truth's one device, then (or by
/// the models) its all-to-alls: backward, all devices starting together, and forward, each device
/// starting when its lookup and backward would let it (DESIGN section 4: compute + backward, less
/// the least of them).
/// Errors: kInvalidInput as check_measurable(), or when the models do not fit the plan; those of
/// the ground truth.
Result<PlanMeasurement> measure_plan(GroundTruth& truth, const Workload& workload, const Plan& plan,
                                     const MeasureOptions& options);

}  // namespace neuroshard
