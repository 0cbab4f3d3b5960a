#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "engine/core/plan.h"
#include "engine/core/plan_sink.h"
#include "engine/core/progress.h"
#include "engine/core/table.h"
#include "engine/core/trainer_rules.h"
#include "engine/planner/algorithms.h"
#include "search/search_space.h"

namespace neuroshard::search {
class PlacementPolicy;
}

namespace neuroshard {

/// How to search. Nothing here is owned; what is pointed at must outlive the call.
struct PlanOptions {
  std::string algorithm{default_algorithm()};  ///< of either list of names
  std::uint64_t seed = 0;                      ///< of the algorithms that draw random numbers
  int threads = 1;  ///< 0 = one per hardware thread; changes the plan only where time decides it
  /// Seconds after which the search returns its best plan so far; 0 = no limit, but 1 s for
  /// "refine" and "anneal" unless `evaluations` limits them. A limit that is reached makes the plan
  /// depend on the machine's speed and load.
  double time_limit_s = 0;
  /// Plans after which "refine", "anneal" and "surco" (20 of itself) stop: then the same input and
  /// seed give the same plan on every machine with the same instruction set. 0 = no such limit.
  std::int64_t evaluations = 0;
  /// Row shards that "refine" and "anneal" may make, as far as the cost models know them
  /// (Capabilities::row_splits); with other cost models, and in the other algorithms, rows stay
  /// whole.
  RowSplits row_splits = RowSplits::kAny;
  /// Whether "refine" and "anneal" may give every device all of a small table, where the cost
  /// models know what that costs (Capabilities::replicas): TorchRec's data_parallel.
  bool data_parallel = false;
  /// Whether "refine" may give every device the hottest rows of tables, where the cost models know
  /// what that costs (Capabilities::hot_rows), and the bytes that they may take of each device.
  /// Tables that may not be on every device, or not on each of them, have none.
  bool hot_rows = false;
  std::int64_t hot_memory_bytes = std::numeric_limits<std::int64_t>::max();
  /// How many times faster devices read their memory than they send, which "hugectr" goes by alone;
  /// 0: 7 on one host, 67 on several, as HugeCTR's own configurations for H100 say.
  double memory_network_ratio = 0;
  /// What whoever runs the plan can run: nothing else is made, whatever the rest of the options
  /// says, or told to make tables fit. Of equal column blocks that is a wish: algorithms that split
  /// columns look for such plans, but where they find none, what they return has others.
  TrainerRules trainer{};
  /// Whether a refusal looks for what would do, which may take longer than the search.
  bool advise = true;
  ProgressSink* progress = nullptr;
  const CancelToken* cancel = nullptr;
  /// What algorithms of policy_heeding_names() place tables by or begin with, and how many plans
  /// those of policy_algorithm_names(), which refuse without one, draw beside its first choice.
  const search::PlacementPolicy* policy = nullptr;
  std::int64_t policy_samples = 0;
  /// Plans that "refine" goes on from, see search::SearchOptions: valid ones for the cluster that
  /// fit and keep to the rest of the options.
  std::span<const Plan> starts{};
  PlanSink* plans = nullptr;  ///< gets the plans that walks come by, where the algorithm has walks
};

/// The same with what the trainer cannot run taken back: row shards and hot rows.
PlanOptions as_trainer_runs(PlanOptions options);

/// Beside which shards of the table a trainer saves what is sent for hot rows. Where it does for
/// lookups that are not pooled alone, one-hot tables are such with it, and cut by their rules.
search::HotRowsBeside hot_rows_beside(const TrainerRules& rules, const Table& table);

/// A feasible plan and what it costs.
struct PlanResult {
  Plan plan;  ///< in the order of plan files
  PlanCost cost;
  std::string algorithm;
  /// Plans the search has put a cost on: in full, or ("refine", of its moves) by an estimate.
  std::int64_t evaluations = 0;
  double seconds = 0;          ///< the search alone
  bool stopped_early = false;  ///< by time or the cancel token: another run may differ
  std::string skipped;         ///< what the time limit left no room for; empty: nothing
  /// Why the file that the plan is for has no place for one with hot rows, where one was found:
  /// this one is without. Empty elsewhere.
  std::string hot_rows_refused;
  /// No plan costs less, where the search has found that out; cost_lower_bound() may say more.
  std::optional<double> lower_bound;
};

}  // namespace neuroshard
