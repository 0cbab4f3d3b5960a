#include "search/replan/fresh_plan.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/plan_bytes.h"
#include "search/refine/refine.h"
#include "search/replan/near_plan.h"
#include "search/row_shapes.h"

namespace neuroshard::search {
namespace {

/// Tables that have to stay as they are: no search could place all of them.
std::set<std::int32_t> staying_tables(const Problem& problem, const Plan& now, bool whole_tables,
                                      bool rows_move) {
  std::set<std::int32_t> tables;
  for (const Shard& shard : now.shards) {
    const TableSpace& own = problem.space.of(shard.table);
    const bool rows = shard.device == kEveryDevice || shard.rows() < own.table->rows;
    const bool only_rows = !own.sharding.whole && !own.sharding.columns;
    const bool in_host_memory = shard.kernel.offloaded() || !own.table->kernels.fused;
    const bool moves = !rows || (rows_move && !only_rows && !in_host_memory);
    const bool whole = !rows && shard.dim() == own.table->dim;
    if (whole_tables ? !whole : !moves) tables.insert(shard.table);
  }
  return tables;
}

/// Bytes of those on the device that has most of them.
std::int64_t staying_bytes(const Problem& problem, Plan now, const std::set<std::int32_t>& tables) {
  std::erase_if(now.shards, [&](const Shard& shard) { return !tables.contains(shard.table); });
  const std::vector<std::int64_t> bytes =
      device_bytes(problem.workload, now, problem.cluster.buffers);
  return *std::max_element(bytes.begin(), bytes.end());
}

/// Keeps the tables that are in host memory on the hosts where they are, with their rows whole.
void pin_to_their_hosts(const Plan& now, const HostLoads& hosts, SearchSpace& space) {
  std::vector<std::set<std::int32_t>> devices(space.tables.size());
  for (const Shard& shard : now.shards) {
    const auto table = static_cast<std::size_t>(shard.table);
    if (!shard.kernel.offloaded()) continue;
    space.tables[table].sharding.rows = false;
    space.tables[table].sharding.data_parallel = false;
    if (!hosts.watched()) continue;
    for (std::int32_t device = 0; device < now.devices; ++device) {
      const bool allowed = space.tables[table].devices.has(device);
      if (allowed && hosts.together(device, shard.device)) devices[table].insert(device);
    }
  }
  for (std::size_t table = 0; table < devices.size(); ++table) {
    if (devices[table].empty()) continue;
    space.tables[table].devices = DeviceSet({devices[table].begin(), devices[table].end()});
  }
}

}  // namespace

std::optional<Plan> fresh_plan(const Problem& problem, PlanEvaluator& evaluator, const Plan& now,
                               const MoveLimit& limit, const HostLoads& hosts,
                               const SearchOptions& options, std::int64_t& evaluations) {
  const std::set<std::int32_t> staying =
      staying_tables(problem, now, limit.whole_tables, options.row_splits != RowSplits::kOff);
  Workload workload = problem.workload;
  SearchSpace space = problem.space;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    space.tables[index].table = &workload.tables[index];
    if (!staying.contains(static_cast<std::int32_t>(index))) continue;
    workload.tables[index].rows = 1;
    space.tables[index].counted = false;
    space.tables[index].sharding = {};
    space.tables[index].devices = {};
  }
  if (limit.whole_tables) {
    for (TableSpace& own : space.tables) own.sharding.columns = !own.sharding.whole;
  }
  pin_to_their_hosts(now, hosts, space);
  Cluster cluster = problem.cluster;
  cluster.memory_bytes -= staying_bytes(problem, now, staying);
  if (cluster.memory_bytes < 1) return std::nullopt;
  SearchOptions own = options;
  if (limit.whole_tables) {
    own.row_splits = RowSplits::kOff;
    own.replicate = false;
  }
  own.progress = nullptr;
  own.advise = false;
  Result<SearchResult> fresh = shard_refine({workload, cluster, std::move(space)}, evaluator, own);
  if (!fresh.ok()) return std::nullopt;
  evaluations += fresh->evaluations;
  canonicalize(fresh->plan);
  const std::vector<TableSpace>& tables = problem.space.tables;
  const bool host_blocks = row_shapes(own, now.devices).host > 0;  // of which each has its device
  const bool alike = evaluator.devices_alike() && !hosts.watched() && !host_blocks &&
                     std::all_of(tables.begin(), tables.end(),
                                 [](const TableSpace& table) { return table.devices.all(); });
  return brought_near(fresh->plan, now, problem.workload, staying, alike);
}

}  // namespace neuroshard::search
