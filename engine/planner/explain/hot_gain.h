#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"

namespace neuroshard {

/// What the hot rows of a table are worth to a plan, now and when other rows have become hot.
struct HotGain {
  std::int64_t rows = 0;
  double counted_share = 0;  ///< of the lookups of the batch that the table is known by
  double lookup_share = 0;   ///< of the next batch's
  double saved_ms = 0;       ///< of the plan's cost: as much more it costs without them
  /// The same when the rows have kept so much of their share.
  struct Later {
    double kept = 0;
    double saved_ms = 0;
  };
  std::vector<Later> later{};
  /// What they have to keep for the plan to cost no more than without them: 0 where it never does,
  /// nothing where they save nothing now.
  std::optional<double> break_even{};
};

/// Nothing for a table without hot rows. The plan stays as it is but for them. Errors: as
/// simulate(). Cost: up to 30 simulations of the plan. Thread-safe.
Result<std::optional<HotGain>> hot_gain(const Workload& workload, const Plan& plan,
                                        const CostModels& models, const Cluster& cluster,
                                        std::int32_t table);

}  // namespace neuroshard
