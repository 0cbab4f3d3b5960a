#include "engine/planner/equal_columns/block_counts.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "engine/planner/equal_columns/column_parts.h"

namespace neuroshard {
namespace {

constexpr std::uint64_t kMostTables = 3;
constexpr std::uint64_t kOtherTurns = 4;  // one change in so many is of the turn alone

/// Of the columns that a device has of each table, the most.
std::vector<std::int32_t> widest_blocks(const Workload& workload, const Plan& plan) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> widths;
  for (const Shard& shard : plan.shards) widths[{shard.table, shard.device}] += shard.dim();
  std::vector<std::int32_t> widest(workload.tables.size());
  for (const auto& [place, width] : widths) {
    std::int32_t& own = widest[static_cast<std::size_t>(place.first)];
    own = std::max(own, width);
  }
  return widest;
}

/// The first that `fits`, or the last.
template <typename Fits>
std::int32_t first_of(const std::vector<std::int32_t>& counts, const Fits& fits) {
  const auto found = std::find_if(counts.begin(), counts.end(), fits);
  return found == counts.end() ? counts.back() : *found;
}

}  // namespace

BlockCounts::BlockCounts(const search::Problem& problem, search::PlanEvaluator& evaluator,
                         bool replicas, bool rows, std::uint64_t seed)
    : problem_(problem), devices_(static_cast<std::uint64_t>(problem.cluster.devices)), rng_(seed) {
  double sum = 0;
  for (std::size_t index = 0; index < problem.space.tables.size(); ++index) {
    possible_.push_back(
        possible_parts(problem.space.tables[index], problem.cluster.devices, replicas, rows));
    const auto whole = evaluator.intern(problem.space.whole(static_cast<std::int32_t>(index)));
    sum += std::max(1e-9, static_cast<double>(evaluator.shape_cost(whole)));
    ms_up_to_.push_back(sum);
  }
}

bool BlockCounts::possible() const {
  return std::none_of(possible_.begin(), possible_.end(),
                      [](const auto& counts) { return counts.empty(); });
}

BlockChoice BlockCounts::like(const Plan& plan, bool finer) {
  const std::vector<std::int32_t> widest = widest_blocks(problem_.workload, plan);
  std::vector<std::int32_t> parts;
  for (std::size_t table = 0; table < possible_.size(); ++table) {
    const std::int32_t dim = problem_.workload.tables[table].dim;
    const std::vector<std::int32_t>& counts = possible_[table];
    std::int32_t count =
        first_of(counts, [&](std::int32_t own) { return dim / own <= widest[table]; });
    if (!finer && dim / count < widest[table] && count > counts.front()) {
      count = *std::prev(std::find(counts.begin(), counts.end(), count));
    }
    parts.push_back(count);
  }
  return with_turns(std::move(parts));
}

BlockChoice BlockCounts::within(std::int64_t bytes) {
  std::vector<std::int32_t> parts;
  for (std::size_t index = 0; index < possible_.size(); ++index) {
    ShardShape block = problem_.space.whole(static_cast<std::int32_t>(index));
    const std::int32_t dim = block.dim;
    parts.push_back(first_of(possible_[index], [&](std::int32_t count) {
      block.dim = dim / count;
      return problem_.space.bytes(block) <= bytes;
    }));
  }
  return with_turns(std::move(parts));
}

BlockChoice BlockCounts::neighbour(BlockChoice choice) {
  const std::uint64_t changes = 1 + rng_.below(kMostTables);
  for (std::uint64_t k = 0; k < changes; ++k) {
    const std::size_t table = draw_table();
    choice.turns[table] = draw_turn();
    if (rng_.below(kOtherTurns) == 0) continue;
    const std::vector<std::int32_t>& counts = possible_[table];
    const auto now = std::find(counts.begin(), counts.end(), choice.parts[table]);
    const bool up = now == counts.begin() || (now + 1 != counts.end() && rng_.below(2) == 0);
    if (up && now + 1 == counts.end()) continue;  // there is one number alone
    choice.parts[table] = up ? *(now + 1) : *(now - 1);
  }
  return choice;
}

BlockChoice BlockCounts::with_turns(std::vector<std::int32_t> parts) {
  BlockChoice choice{std::move(parts), {}};
  for (std::size_t table = 0; table < choice.parts.size(); ++table) {
    choice.turns.push_back(draw_turn());
  }
  return choice;
}

std::size_t BlockCounts::draw_table() {
  const double drawn = rng_.uniform() * ms_up_to_.back();
  const auto found = std::upper_bound(ms_up_to_.begin(), ms_up_to_.end() - 1, drawn);
  return static_cast<std::size_t>(found - ms_up_to_.begin());
}

}  // namespace neuroshard
