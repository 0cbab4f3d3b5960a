#include "search/replan/fresh_start.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "search/refine/refine.h"
#include "search/replan/near_plan.h"
#include "search/replan/partial_plan.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

constexpr std::int64_t kMostCosted = 40'000;  // by partial_plan(), where no budget says so

/// Tables with pieces that do not move.
std::set<std::int32_t> staying_tables(const RunningPlan& now) {
  std::set<std::int32_t> tables;
  for (std::size_t k = 0; k < now.plan.shards.size(); ++k) {
    if (!now.catalog.entry(now.catalog.of_plan()[k]).moves()) {
      tables.insert(now.plan.shards[k].table);
    }
  }
  return tables;
}

/// Bytes of those on the device that has most of them.
std::int64_t staying_bytes(const RunningPlan& now, const std::set<std::int32_t>& tables) {
  Plan plan = now.plan;
  std::erase_if(plan.shards, [&](const Shard& shard) { return !tables.contains(shard.table); });
  const std::vector<std::int64_t> bytes = placed_bytes(now.problem.workload, plan);
  return *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace

std::optional<CellPlan> fresh_start(const RunningPlan& now, const SearchOptions& options,
                                    std::int64_t& evaluations) {
  const std::set<std::int32_t> staying = staying_tables(now);
  Workload workload = now.problem.workload;
  for (const std::int32_t index : staying) {
    Table& table = workload.tables[static_cast<std::size_t>(index)];
    table.rows = 1;
    table.sharding = {};
    table.devices = {};
  }
  if (now.limit.whole_tables) {
    for (Table& table : workload.tables) table.sharding.columns = !table.sharding.whole;
  }
  Cluster cluster = now.problem.cluster;
  cluster.memory_bytes -= staying_bytes(now, staying);
  if (cluster.memory_bytes < 1) return std::nullopt;
  SearchOptions own = options;
  own.row_splits = RowSplits::kOff;
  own.replicate = false;
  own.progress = nullptr;
  Result<SearchResult> fresh = shard_refine({workload, cluster}, now.evaluator, own);
  if (!fresh.ok()) return std::nullopt;
  evaluations += fresh->evaluations;
  canonicalize(fresh->plan);
  const std::vector<Table>& tables = now.problem.workload.tables;
  const bool alike = now.evaluator.devices_alike() &&
                     std::all_of(tables.begin(), tables.end(),
                                 [](const Table& table) { return table.devices.all(); });
  const Plan near = brought_near(fresh->plan, now.plan, now.problem.workload, staying, alike);
  const StopCheck stop(own);  // as long again
  const std::int64_t most = own.evaluations > 0 ? own.evaluations : kMostCosted;
  return partial_plan(near, now, evaluations + most, evaluations, [&] { return stop.stop(); });
}

}  // namespace neuroshard::search
