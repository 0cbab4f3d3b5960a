#include "search/replan/fresh_start.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/plan_bytes.h"
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
  const std::vector<std::int64_t> bytes =
      device_bytes(now.problem.workload, plan, now.problem.cluster.buffers);
  return *std::max_element(bytes.begin(), bytes.end());
}

/// Keeps the tables that are in host memory on the hosts where they are.
void pin_to_their_hosts(const RunningPlan& now, SearchSpace& space) {
  std::vector<std::set<std::int32_t>> devices(space.tables.size());
  for (const Shard& shard : now.plan.shards) {
    const auto table = static_cast<std::size_t>(shard.table);
    if (!shard.kernel.offloaded()) continue;
    for (std::int32_t device = 0; device < now.plan.devices; ++device) {
      const bool allowed = space.tables[table].devices.has(device);
      if (allowed && now.hosts.together(device, shard.device)) devices[table].insert(device);
    }
  }
  for (std::size_t table = 0; table < devices.size(); ++table) {
    if (devices[table].empty()) continue;
    space.tables[table].devices = DeviceSet({devices[table].begin(), devices[table].end()});
  }
}

}  // namespace

std::optional<CellPlan> fresh_start(const RunningPlan& now, const SearchOptions& options,
                                    std::int64_t& evaluations) {
  const std::set<std::int32_t> staying = staying_tables(now);
  Workload workload = now.problem.workload;
  SearchSpace space = now.problem.space;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    space.tables[index].table = &workload.tables[index];
    if (!staying.contains(static_cast<std::int32_t>(index))) continue;
    workload.tables[index].rows = 1;
    space.tables[index].counted = false;
    space.tables[index].sharding = {};
    space.tables[index].devices = {};
  }
  if (now.limit.whole_tables) {
    for (TableSpace& own : space.tables) own.sharding.columns = !own.sharding.whole;
  }
  if (now.hosts.watched()) pin_to_their_hosts(now, space);
  Cluster cluster = now.problem.cluster;
  cluster.memory_bytes -= staying_bytes(now, staying);
  if (cluster.memory_bytes < 1) return std::nullopt;
  SearchOptions own = options;
  own.row_splits = RowSplits::kOff;
  own.replicate = false;
  own.progress = nullptr;
  Result<SearchResult> fresh =
      refine_unjoined({workload, cluster, std::move(space)}, now.evaluator, own);
  if (!fresh.ok()) return std::nullopt;
  evaluations += fresh->evaluations;
  canonicalize(fresh->plan);
  const std::vector<TableSpace>& tables = now.problem.space.tables;
  const bool alike = now.evaluator.devices_alike() && !now.hosts.watched() &&
                     std::all_of(tables.begin(), tables.end(),
                                 [](const TableSpace& table) { return table.devices.all(); });
  const Plan near = brought_near(fresh->plan, now.plan, now.problem.workload, staying, alike);
  const StopCheck stop(own);  // as long again
  const std::int64_t most = own.evaluations > 0 ? own.evaluations : kMostCosted;
  return partial_plan(near, now, evaluations + most, evaluations, [&] { return stop.stop(); });
}

}  // namespace neuroshard::search
