#include "search/hugectr/hugectr_sharder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/check_sharding.h"
#include "engine/core/plan_bytes.h"
#include "engine/core/row_blocks.h"
#include "search/feasibility.h"
#include "search/hugectr/hugectr_rule.h"

namespace neuroshard::search {
namespace {

// Of HugeCTR's samples/dlrm: config_DGXH100_*.sh, and train.py's mem_comm_work_ratio.
constexpr double kRatioInside = 7;
constexpr double kRatioBetween = 67;
constexpr double kReplicatedInside = 8e6;  // bytes
constexpr double kReplicatedBetween = 12.5e6;
constexpr double kWorkRatio = 4;

/// Devices in groups that the rule chooses from.
struct Grouping {
  std::int32_t groups = 0;
  std::int32_t devices_each = 1;
  [[nodiscard]] bool of_hosts() const { return devices_each > 1; }
};

bool divides_rows(const SearchOptions& options) { return options.row_splits == RowSplits::kAny; }

Grouping grouping_of(const Problem& problem, const SearchOptions& options) {
  const std::int32_t devices = problem.cluster.devices;
  const std::int32_t each = options.devices_per_host;
  if (!divides_rows(options) || each < 2 || each >= devices || devices % each != 0) {
    return {devices};
  }
  return {devices / each, each};
}

/// The table's rows by modulo over the devices of those groups.
void add_blocks(const Problem& problem, std::int32_t table, const std::vector<std::int32_t>& groups,
                const Grouping& grouping, Plan& plan) {
  const auto blocks = static_cast<std::int32_t>(groups.size()) * grouping.devices_each;
  const Shard whole = problem.space.whole_on(0, table);
  for (std::int32_t block = 0; block < blocks; ++block) {
    const RowRange rows = modulo_rows(whole.row_end, blocks, block);
    if (rows.begin >= rows.end) continue;
    Shard shard = whole;
    shard.row_begin = rows.begin;
    shard.row_end = rows.end;
    shard.device =
        groups[static_cast<std::size_t>(block / grouping.devices_each)] * grouping.devices_each +
        block % grouping.devices_each;
    plan.shards.push_back(shard);
  }
}

/// The small tables, on every device; returns the others.
std::vector<std::int32_t> add_replicas(const Problem& problem, const SearchOptions& options,
                                       const Grouping& grouping, Plan& plan) {
  const double limit = grouping.of_hosts() ? kReplicatedBetween : kReplicatedInside;
  std::vector<std::int32_t> others;
  for (std::int32_t table = 0; table < std::ssize(problem.workload.tables); ++table) {
    const auto bytes = static_cast<double>(problem.space.whole_bytes(table));
    if (options.replicate && problem.cluster.devices > 1 && bytes < limit) {
      plan.shards.push_back(problem.space.whole_on(kEveryDevice, table));
    } else {
      others.push_back(table);
    }
  }
  return others;
}

RuledTable ruled_table(const Problem& problem, std::int32_t table) {
  const Table& own = problem.workload.tables[static_cast<std::size_t>(table)];
  return {own.pooling_factor * own.dim, static_cast<double>(own.dim) * own.features,
          problem.space.whole_bytes(table)};
}

Status check_allowed(const Problem& problem, const Plan& plan) {
  std::vector<std::vector<Shard>> shards(problem.workload.tables.size());
  for (const Shard& shard : plan.shards) {
    shards[static_cast<std::size_t>(shard.table)].push_back(shard);
  }
  for (std::size_t table = 0; table < shards.size(); ++table) {
    const Status allowed =
        check_sharding(problem.workload.tables[table], shards[table], plan.devices);
    if (!allowed.ok()) {
      return allowed.with_context(table_label(problem.workload, static_cast<std::int32_t>(table)) +
                                  ", as hugectr places it");
    }
  }
  return {};
}

Status check_memory(const Problem& problem, const Plan& plan) {
  const std::vector<std::int64_t> bytes =
      device_bytes(problem.workload, plan, problem.cluster.buffers);
  const std::int64_t most = *std::max_element(bytes.begin(), bytes.end());
  if (most <= problem.cluster.memory_bytes) return {};
  return infeasible("hugectr puts " + format_bytes_apart(most, problem.cluster.memory_bytes) +
                    " on a device: " + memory_would_do(most) + ", or an algorithm that minds more");
}

}  // namespace

Result<Plan> hugectr_plan(const Problem& problem, const SearchOptions& options) {
  const Grouping grouping = grouping_of(problem, options);
  const double given = options.memory_network_ratio;
  const double ratio = given > 0 ? given : grouping.of_hosts() ? kRatioBetween : kRatioInside;
  Plan made{problem.cluster.devices, {}};
  const std::vector<std::int32_t> divided = add_replicas(problem, options, grouping, made);
  std::vector<RuledTable> tables;
  for (const std::int32_t table : divided) tables.push_back(ruled_table(problem, table));
  double memory = static_cast<double>(problem.cluster.memory_bytes);
  for (const Shard& replica : made.shards) {
    memory -= static_cast<double>(problem.space.whole_bytes(replica.table));
  }
  const RuledGroups groups{grouping.groups, memory * grouping.devices_each, divides_rows(options)};
  const std::optional<RuledPlan> plan = hugectr_rule(tables, groups, ratio / kWorkRatio);
  if (!plan) {
    if (const auto shortage = shortage_in_all(problem)) return needs_at_least(problem, *shortage);
    return no_arrangement(problem);
  }
  for (std::size_t i = 0; i < divided.size(); ++i) {
    add_blocks(problem, divided[i], (*plan)[i], grouping, made);
  }
  NEUROSHARD_RETURN_IF_ERROR(check_allowed(problem, made));
  NEUROSHARD_RETURN_IF_ERROR(check_memory(problem, made));
  return made;
}

Result<SearchResult> shard_hugectr(const Problem& problem, PlanEvaluator&,
                                   const SearchOptions& options) {
  NEUROSHARD_ASSIGN_OR_RETURN(Plan plan, hugectr_plan(problem, options));
  return SearchResult{std::move(plan), 0, false};
}

}  // namespace neuroshard::search
