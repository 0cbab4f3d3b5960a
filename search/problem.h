#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "engine/core/cluster.h"
#include "engine/core/plan.h"
#include "engine/core/plan_sink.h"
#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/core/step_memory.h"
#include "engine/core/table.h"
#include "engine/core/thread_pool.h"
#include "search/plan_evaluator.h"
#include "search/search_space.h"

namespace neuroshard::search {

class PlacementPolicy;

/// What to shard. Workload and cluster are valid (see their validate()), the workload outlives the
/// search.
struct Problem {
  /// With what the tables themselves allow, and the cluster's buffers.
  Problem(const Workload& tables, const Cluster& devices)
      : Problem(tables, devices, space_of(tables)) {
    space.step = step_memory(tables, devices);
  }
  Problem(const Workload& tables, const Cluster& devices, SearchSpace layouts,
          const SearchSpace* more = nullptr)
      : workload(tables), cluster(devices), space(std::move(layouts)), on_more_devices(more) {}

  const Workload& workload;
  Cluster cluster;
  SearchSpace space;  ///< of the workload
  /// The space as more devices have it, where `space` is put for as many as there are: tables that
  /// may be on each of these may not be on others. Null: the same.
  const SearchSpace* on_more_devices = nullptr;
};

/// Nothing here is owned.
struct SearchOptions {
  std::uint64_t seed = 0;
  ThreadPool* pool = nullptr;  ///< null = the calling thread alone; the plan is the same
  double time_limit_s = 0;     ///< 0 = none
  const CancelToken* cancel = nullptr;
  ProgressSink* progress = nullptr;
  /// Candidates after which `refine`, `anneal` and `surco` stop, and above which `exact` does not
  /// start; 0 = their own limits. The others end by themselves.
  std::int64_t evaluations = 0;
  /// Row shards that `refine` may make, and in how many parts at most the cost models know them.
  RowSplits row_splits = RowSplits::kOff;
  std::int32_t row_parts = 1;
  /// Where the cost models know what even blocks cost over the devices of one host: how many those
  /// are; 0: they do not.
  std::int32_t devices_per_host = 0;
  /// Whether `refine` may give every device all of a table; only where the cost models know it.
  bool replicate = false;
  /// Whether `refine` may give every device the hottest rows of tables; only where the cost models
  /// know them. Bytes that they may take of each device.
  bool hot_rows = false;
  std::int64_t hot_memory_bytes = std::numeric_limits<std::int64_t>::max();
  /// Memory's rate beside the network's, which `hugectr` goes by; 0: those of its own samples.
  double memory_network_ratio = 0;
  /// The widest that whoever runs the plan has a place for: what a refusal may propose.
  RowSplits possible_row_splits = RowSplits::kAny;
  /// Whether the cost models know what `replicate` would make: the same.
  bool possible_replicas = false;
  /// Whether a refusal of `refine` says what would do, which may take long to find out.
  bool advise = true;
  /// Whether SearchResult::lower_bound is of plans that fit the devices. Not where it is to hold
  /// for tables in host memory, too.
  bool bound_within_memory = true;
  /// Gets the best plan of each of `refine`'s walks; null: nobody.
  PlanSink* plans = nullptr;
  /// Plans that `refine` goes on from, so that it finds none that costs more: valid ones of the
  /// problem's space that fit. Those with hot rows, tables in host memory or shards in sizes that
  /// its walks do not know it leaves alone.
  std::span<const Plan> starts{};
  /// What places tables in algorithms of policies (policy_algorithms()), and what `surco` begins
  /// with; null: there is none.
  const PlacementPolicy* policy = nullptr;
  /// How many plans the former draw from the policy's probabilities beside its first choice.
  std::int64_t policy_samples = 0;
};

struct SearchResult {
  Plan plan;
  /// Plans that a cost has been put on: by the evaluator in full, or (`refine`) by an estimate.
  std::int64_t evaluations = 0;
  bool stopped_early = false;  ///< by the time limit or the caller: another run may differ
  /// What the time limit left no room for, in words; empty: nothing.
  std::string_view skipped{};
  /// lower_bound() of the problem, where the search has asked for it and there is one. With more
  /// effort there may be a higher one.
  std::optional<double> lower_bound{};
};

/// Finds a feasible plan. REQUIRES evaluator.devices() == problem.cluster.devices and an evaluator
/// for problem.workload. Errors: kInfeasible with one line that names the table or limit to blame
/// and a change that would make it fit; kInvalidInput when the algorithm is not for a problem of
/// this size; kCancelled when there is no plan yet.
using Sharder = Result<SearchResult> (*)(const Problem& problem, PlanEvaluator& evaluator,
                                         const SearchOptions& options);

}  // namespace neuroshard::search
