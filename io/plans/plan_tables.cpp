#include "io/plans/plan_tables.h"

#include <set>

#include "engine/core/check_sharding.h"
#include "io/text.h"

namespace neuroshard::io {

ShardsByTable::ShardsByTable(const Workload& workload, const Plan& plan)
    : shards_(plan.shards), begin_(workload.tables.size() + 1) {
  for (const Shard& shard : shards_) ++begin_[static_cast<std::size_t>(shard.table) + 1];
  for (std::size_t table = 1; table < begin_.size(); ++table) begin_[table] += begin_[table - 1];
}

Result<std::map<std::string, std::int32_t, std::less<>>> tables_by_name(const Workload& workload) {
  std::map<std::string, std::int32_t, std::less<>> names;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const std::string& name = workload.tables[index].name;
    const auto table = static_cast<std::int32_t>(index);
    const auto [place, inserted] = names.emplace(name, table);
    if (inserted) continue;
    return invalid_input("tables " + std::to_string(place->second) + " and " +
                         std::to_string(table) + " are both called " + excerpt(name) +
                         ", expected unique names: this format knows tables by name");
  }
  return names;
}

std::vector<std::string> names_for_plan(const Workload& workload) {
  std::vector<std::string> names;
  for (const Table& table : workload.tables) names.push_back(table.name);
  if (std::set<std::string_view>(names.begin(), names.end()).size() != names.size()) names.clear();
  return names;
}

std::string describe_table(const Workload& workload, std::int32_t table) {
  return "table " + std::to_string(table) + " " +
         excerpt(workload.tables[static_cast<std::size_t>(table)].name);
}

Status check_plan_sharding(const Workload& workload, Plan plan) {
  canonicalize(plan);
  const ShardsByTable by_table(workload, plan);
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const Table& table = workload.tables[index];
    const Status status = check_sharding(table, by_table.of(index), plan.devices);
    if (status.ok()) continue;
    return status.with_context(describe_table(workload, static_cast<std::int32_t>(index)));
  }
  return {};
}

}  // namespace neuroshard::io
