#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "engine/ground_truth/ground_truth.h"
#include "engine/training/dataset.h"

namespace neuroshard {

/// Columns of a table, which cost what a table as narrow does.
struct MeasuredColumns {
  std::int32_t table = 0;  ///< index of the pool
  std::int32_t dim = 0;
};

/// Whole plans that were measured, as what cost networks learn from: the lookups of every device,
/// and the exchange between them. Not thread-safe.
class MeasuredPlans {
 public:
  /// The pool must outlive it.
  explicit MeasuredPlans(const Workload& pool) : pool_(pool), compute_{{}, {}, pool.batch_size} {}

  /// Measures the plan that has these columns on its devices, each device in turn and then their
  /// exchange, as measure_plan() does. The plan's cost in milliseconds: the slowest device's.
  /// Errors: the ground truth's.
  Result<double> measure(GroundTruth& truth,
                         const std::vector<std::vector<MeasuredColumns>>& devices);

  [[nodiscard]] std::int64_t plans() const { return plans_; }

  /// Networks fitted to all that was measured so far. Errors: kInvalidInput for too few plans to
  /// learn from; kCancelled.
  [[nodiscard]] Result<CostModels> fit(const GroundTruth& truth, std::uint64_t seed,
                                       int threads) const;

 private:
  std::int32_t entry_of(const MeasuredColumns& columns);

  const Workload& pool_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> entries_;  // by table and dim
  ComputeDataset compute_;
  std::map<std::int32_t, CommDataset> exchanges_;  // by the number of devices
  std::int64_t plans_ = 0;
};

}  // namespace neuroshard
