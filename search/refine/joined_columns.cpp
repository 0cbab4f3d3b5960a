#include "search/refine/joined_columns.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/core/shards_by_table.h"
#include "search/local/column_cuts.h"
#include "search/plan_cost.h"

namespace neuroshard::search {
namespace {

// Tables that are tried alone; each takes as long as the plan has shards.
constexpr std::int64_t kMostJoinedTables = 50;
constexpr std::size_t kMostShards = 10'000;

/// Whether halving a table leads to that many columns.
bool is_of_halves(std::int32_t columns, const Table& table) {
  return table.dim % columns == 0 &&
         std::has_single_bit(static_cast<std::uint32_t>(table.dim / columns));
}

/// How many lanes of a warp read a row of so many columns, as far as kernels differ by it: 0, 1, 2.
int lanes(std::int32_t columns) {
  return columns <= kColumnsOfEightLanes ? 0 : columns <= kColumnsOfSixteenLanes ? 1 : 2;
}

/// Whether a cost model that has learned widths which halving leads to knows that block, too, of
/// shards on one device of which the widest has `widest` columns: any other is known as one
/// between them, as long as no wider groups of lanes read it, and all tables beside it.
bool is_known(const Shard& block, std::int32_t widest, const Table& table) {
  return is_of_halves(block.dim(), table) ||
         (block.dim() % kLeastColumns == 0 && lanes(block.dim()) == lanes(widest));
}

/// What devices hold of a table's columns, one block each; those of no multiple of 4 columns last.
/// Empty where that is what they hold already, the table may not be so, or, `only_known`, where one
/// of them is not is_known().
std::vector<Shard> joined(std::span<const Shard> shards, const TableSpace& own, bool only_known) {
  const Table& table = *own.table;
  std::vector<Shard> blocks;
  for (const Shard& shard : shards) {
    if (shard.device < 0 || shard.rows() != table.rows) return {};
    const auto same = [&](const Shard& block) { return block.device == shard.device; };
    const auto block = std::find_if(blocks.begin(), blocks.end(), same);
    if (block == blocks.end()) {
      blocks.push_back(shard);
    } else {
      block->column_end += shard.dim();
    }
  }
  const bool whole = blocks.size() == 1;
  const bool allowed = whole ? own.sharding.whole : table.pooled;
  if (blocks.size() == shards.size() || !allowed) return {};
  const auto unknown = [&](const Shard& block) {
    std::int32_t widest = 0;
    for (const Shard& shard : shards) {
      if (shard.device == block.device) widest = std::max(widest, shard.dim());
    }
    return !is_known(block, widest, table);
  };
  if (only_known && std::any_of(blocks.begin(), blocks.end(), unknown)) return {};
  std::stable_partition(blocks.begin(), blocks.end(),
                        [](const Shard& block) { return block.dim() % kLeastColumns == 0; });
  std::int32_t column = 0;
  for (Shard& block : blocks) {
    block.column_end = column + block.dim();
    block.column_begin = std::exchange(column, block.column_end);
  }
  return blocks;
}

/// The shards of one table, [begin, end) of a plan, and what they would become.
struct Joint {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<Shard> blocks;
};

std::vector<Joint> joints_of(const Plan& plan, const SearchSpace& space, bool only_known) {
  std::vector<Joint> joints;
  std::size_t end = 0;
  for (const std::span<const Shard> shards : shards_by_table(plan)) {
    const std::size_t begin = std::exchange(end, end + shards.size());
    if (shards.size() < 2) continue;
    std::vector<Shard> blocks = joined(shards, space.of(shards.front().table), only_known);
    if (!blocks.empty()) joints.push_back({begin, end, std::move(blocks)});
  }
  return joints;
}

/// The plan with those of the joints that are taken.
Plan with(const Plan& plan, const std::vector<Joint>& joints, const std::vector<bool>& taken) {
  Plan other{plan.devices, {}};
  std::size_t next = 0;
  for (std::size_t k = 0; k < joints.size(); ++k) {
    if (!taken[k]) continue;
    const auto from = [&](std::size_t index) {
      return plan.shards.begin() + static_cast<std::ptrdiff_t>(index);
    };
    other.shards.insert(other.shards.end(), from(next), from(joints[k].begin));
    other.shards.insert(other.shards.end(), joints[k].blocks.begin(), joints[k].blocks.end());
    next = joints[k].end;
  }
  other.shards.insert(other.shards.end(), plan.shards.begin() + static_cast<std::ptrdiff_t>(next),
                      plan.shards.end());
  return other;
}

}  // namespace

Plan with_joined_columns(Plan plan, const Problem& problem, PlanEvaluator& evaluator,
                         std::int64_t& evaluations) {
  canonicalize(plan);
  const std::vector<Joint> joints = joints_of(plan, problem.space, !evaluator.additive());
  if (joints.empty()) return plan;
  double cost = plan_cost(plan, evaluator);
  std::vector<bool> taken(joints.size(), true);
  Plan all = with(plan, joints, taken);
  evaluations += 2;
  if (plan_cost(all, evaluator) <= cost) return all;
  taken.assign(joints.size(), false);
  if (plan.shards.size() > kMostShards) return plan;
  std::int64_t tried = 0;
  for (std::size_t k = 0; k < joints.size() && tried < kMostJoinedTables; ++k, ++tried) {
    taken[k] = true;
    const double other = plan_cost(with(plan, joints, taken), evaluator);
    taken[k] = other <= cost;
    cost = std::min(cost, other);
  }
  evaluations += tried;
  return with(plan, joints, taken);
}

Plan with_all_columns_joined(Plan plan, const SearchSpace& space) {
  canonicalize(plan);
  const std::vector<Joint> joints = joints_of(plan, space, false);
  return with(plan, joints, std::vector<bool>(joints.size(), true));
}

}  // namespace neuroshard::search
