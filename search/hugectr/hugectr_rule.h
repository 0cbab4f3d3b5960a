#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace neuroshard::search {

/// A table as the rule sees it.
struct RuledTable {
  double work = 0;         ///< values that lookups read, a sample
  double columns = 0;      ///< of outputs, a sample
  std::int64_t bytes = 0;  ///< with the optimizer's states
};

/// Where shards go: a device, or a host whose devices all have a part of what it gets.
struct RuledGroups {
  std::int32_t groups = 0;
  double memory_bytes = 0;   ///< of each
  bool divides_rows = true;  ///< if not, there is one round, and every table is whole
};

/// What a column that is sent costs beside a value that is looked up.
using ColumnPrice = double;

/// [table]: the groups that have an equal part of its rows, ascending.
using RuledPlan = std::vector<std::vector<std::int32_t>>;

/// The rule of HugeCTR's planner (NVIDIA-Merlin/HugeCTR 2f2016f, samples/dlrm/sharding/planner.py,
/// which MLPerf's submissions ran). A group costs what its parts look up and, for each part, all
/// columns of its table at `price`. Up to 20 rounds: parts go by descending work to the cheapest
/// group that has the memory and no part of the same table; the largest part that may be is halved
/// for the next round, or else a table whose part fits nowhere. The plan with the least cost of
/// the costliest group is taken, that of all tables over all groups among them. Plans are the
/// original's if its sorts were stable: it leaves equal parts to numpy's, which are so for few
/// parts only, by version. Nothing where not even all over all fits, or a whole
/// table that may not be divided. Deterministic.
std::optional<RuledPlan> hugectr_rule(std::span<const RuledTable> tables, const RuledGroups& groups,
                                      ColumnPrice price);

}  // namespace neuroshard::search
