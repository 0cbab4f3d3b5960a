#include "engine/planner/explain/hot_gain.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/core/hot_rows.h"
#include "engine/planner/planner.h"

namespace neuroshard {
namespace {

constexpr std::array kKept{0.9, 0.75, 0.5};
constexpr int kShares = 20;   // that are tried for a break-even one
constexpr int kHalvings = 6;  // of the distance between two of them: to a thousandth

/// Costs of a plan while one table's data moves on.
class MovingTable {
 public:
  MovingTable(const Workload& workload, const Plan& plan, const CostModels& models,
              const Cluster& cluster, std::int32_t table)
      : workload_(workload),
        now_(workload.tables[static_cast<std::size_t>(table)]),
        plan_(plan),
        models_(models),
        cluster_(cluster),
        table_(static_cast<std::size_t>(table)) {}

  /// Of the plan without the table's hot rows.
  [[nodiscard]] Result<double> without() const {
    Plan plan = plan_;
    for (Shard& shard : plan.shards) {
      if (static_cast<std::size_t>(shard.table) == table_) shard.kernel.hot_rows = 0;
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanCost cost, simulate(workload_, plan, models_, cluster_));
    return cost.cost_ms;
  }

  /// Of the plan when its hot rows have kept so much.
  [[nodiscard]] Result<double> with(double kept) {
    workload_.tables[table_] = kept < 1 ? moved_on(now_, kept, workload_.batch_size) : now_;
    NEUROSHARD_ASSIGN_OR_RETURN(const PlanCost cost, simulate(workload_, plan_, models_, cluster_));
    return cost.cost_ms;
  }

 private:
  Workload workload_;
  const Table now_;
  const Plan& plan_;
  const CostModels& models_;
  const Cluster& cluster_;
  const std::size_t table_;
};

/// The least share from which on the plan costs no more than `without` them. What it costs need not
/// rise steadily as data moves on: rows that nobody looks up any more cost little again.
Result<double> break_even_of(MovingTable& moving, double without) {
  double high = 1;
  for (int step = kShares - 1; step >= 0; --step) {
    double low = static_cast<double>(step) / kShares;
    NEUROSHARD_ASSIGN_OR_RETURN(const double lower, moving.with(low));
    if (lower <= without) {
      high = low;
      continue;
    }
    for (int k = 0; k < kHalvings; ++k) {
      const double middle = (low + high) / 2;
      NEUROSHARD_ASSIGN_OR_RETURN(const double cost, moving.with(middle));
      (cost > without ? low : high) = middle;
    }
    return high;
  }
  return 0.0;
}

}  // namespace

Result<std::optional<HotGain>> hot_gain(const Workload& workload, const Plan& plan,
                                        const CostModels& models, const Cluster& cluster,
                                        std::int32_t table) {
  const std::vector<HotRows> all = hot_rows(plan);
  const auto own =
      std::find_if(all.begin(), all.end(), [&](const HotRows& hot) { return hot.table == table; });
  if (own == all.end()) return std::optional<HotGain>();
  const LookupParts parts = lookup_parts(workload.tables[static_cast<std::size_t>(table)],
                                         own->rows, workload.batch_size);
  HotGain gain{
      .rows = own->rows, .counted_share = parts.counted_share, .lookup_share = parts.hot_share};
  MovingTable moving(workload, plan, models, cluster, table);
  NEUROSHARD_ASSIGN_OR_RETURN(const double without, moving.without());
  NEUROSHARD_ASSIGN_OR_RETURN(const double now, moving.with(1));
  gain.saved_ms = without - now;
  for (const double kept : kKept) {
    NEUROSHARD_ASSIGN_OR_RETURN(const double cost, moving.with(kept));
    gain.later.push_back({kept, without - cost});
  }
  if (gain.saved_ms > 0) {
    NEUROSHARD_ASSIGN_OR_RETURN(gain.break_even, break_even_of(moving, without));
  }
  return std::optional<HotGain>(std::move(gain));
}

}  // namespace neuroshard
