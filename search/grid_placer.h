#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/cluster.h"
#include "search/device_order.h"
#include "search/plan_evaluator.h"
#include "search/shard_set.h"
#include "search/stop_check.h"

namespace neuroshard::search {

/// The grid of NeuroShard's inner search (paper, Algorithm 1): caps on a device's dims, in equal
/// steps from `first_cap` to `last_cap` times the mean dims per device.
struct GridOptions {
  int caps = 11;
  double first_cap = 1.0;
  double last_cap = 1.5;
  /// When no cap leads to a plan, try without one: by cost, then by memory alone.
  bool last_resort = false;
};

/// The best placement of one ShardSet.
struct Placement {
  bool feasible = false;
  double cost = 0;  ///< milliseconds; infinite when not feasible
  int rule = -1;    ///< which cap or last resort led to it, for GridPlacer::assign()
  int evaluations = 0;
  bool cut_short = false;  ///< by time, once there was a plan
};

/// Places shards on devices by greedy grid search: per cap, shards in descending single-shard cost,
/// each to the device with the least predicted fused cost so far (an empty one counts as 0) among
/// those where memory and the cap allow it; ties: less memory used, then lower index. The cap with
/// the lowest plan cost wins, the first of equals.
///
/// Owns all memory it needs, so that placing allocates nothing once warm. Not thread-safe: one a
/// thread; the evaluator and cluster must outlive it.
class GridPlacer {
 public:
  GridPlacer(const PlanEvaluator& evaluator, const Cluster& cluster, const GridOptions& options);

  /// Nothing when `stop` says so before it is done.
  std::optional<Placement> evaluate(const ShardSet& shards, const StopCheck* stop = nullptr);
  /// The same, but minds `stop` only once a cap has led to a plan, which counts then.
  Placement evaluate_some(const ShardSet& shards, const StopCheck& stop);

  /// The device of each shard under `rule`, as evaluate() found it feasible for the same shards.
  std::vector<std::int32_t> assign(const ShardSet& shards, int rule);

  /// Memory per device with which placing by memory alone certainly succeeds.
  std::int64_t memory_that_fits(const ShardSet& shards);

 private:
  struct Rule {
    double cap;
    bool by_memory;
    std::int64_t memory;
  };

  [[nodiscard]] Rule rule_at(int rule, double mean_dims) const;
  [[nodiscard]] std::size_t first_fit(const PlacementItem& item, const Rule& rule);
  bool place(std::span<const PlacementItem> order, const Rule& rule, std::int32_t* device_of,
             RareStopCheck& over);
  bool place(const ShardSet& shards, const Rule& rule, std::int32_t* device_of,
             RareStopCheck& over);
  bool place(const ShardSet& shards, const Rule& rule, std::int32_t* device_of);
  bool try_rules(const ShardSet& shards, const StopCheck* stop, bool patient);
  bool try_caps(const ShardSet& shards, double mean, const StopCheck* stop, bool patient);
  void keep_row(int rule);
  Placement cheapest_row();

  const PlanEvaluator& evaluator_;
  const Cluster& cluster_;
  const GridOptions options_;
  const std::size_t state_size_;

  DeviceOrder devices_;
  AlignedVector<float> states_;        // [devices, state_size]
  std::vector<float> compute_;         // [devices]
  std::vector<PlacementItem> sorted_;  // by memory, for the last resort
  double next_cap_ = 0;                // least cap that changes a decision of the last place()

  // Complete plans waiting for their cost, one row a plan.
  std::vector<int> row_rules_;
  std::vector<float> row_compute_;
  std::vector<std::int64_t> row_dims_;
  std::vector<double> row_costs_;
  Scratch scratch_;
};

/// Mean dims per device: what the caps are multiples of.
double mean_dims(const ShardSet& shards, std::int32_t devices);

}  // namespace neuroshard::search
