#include "search/neuroshard.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "search/beam.h"
#include "search/feasibility.h"
#include "search/piece_sizes.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

/// All tables, those in two that may not be whole. REQUIRES check_pieces().ok().
ShardSet fewest_shards(const SearchSpace& space, PlanEvaluator& evaluator) {
  ShardSet shards = ShardSet::whole_tables(space, evaluator);
  for (std::size_t index = 0; index < space.tables.size(); ++index) {
    const TableSpace& own = space.tables[index];
    if (own.sharding.whole) continue;
    shards.split(static_cast<std::int32_t>(index), split_point(own, own.table->dim), space,
                 evaluator);
  }
  return shards;
}

/// Splits shard `index` and its parts until no part is larger than a device. REQUIRES
/// check_finest_pieces().ok().
void split_to_fit(const Problem& problem, PlanEvaluator& evaluator, std::int32_t index,
                  ShardSet& shards) {
  std::vector<std::int32_t> large{index};
  while (!large.empty()) {
    const std::int32_t part = large.back();
    const Shard& shard = shards.shard(part);
    const std::int32_t columns = split_point(problem.space.of(shard.table), shard.dim());
    if (columns == 0 || problem.space.bytes(shape_of(shard)) <= problem.cluster.memory_bytes) {
      large.pop_back();
      continue;
    }
    shards.split(part, columns, problem.space, evaluator);
    large.push_back(static_cast<std::int32_t>(shards.size()) - 1);
  }
}

/// Shards that `grid` can place, split no further than it takes: one, then two, four, ... of the
/// largest at a time, so that even thousands of splits take few rounds.
Result<ShardSet> split_until_placed(const Problem& problem, PlanEvaluator& evaluator,
                                    const GridOptions& grid, const StopCheck& stop) {
  ShardSet shards = fewest_shards(problem.space, evaluator);
  const auto count_at_first = static_cast<std::int32_t>(shards.size());
  for (std::int32_t index = 0; index < count_at_first; ++index) {
    split_to_fit(problem, evaluator, index, shards);
  }
  GridPlacer placer(evaluator, problem.cluster, grid);
  for (std::size_t count = 1; !stop.stop(); count *= 2) {
    if (placer.evaluate(shards)->feasible) return shards;
    if (!shards.split_largest(count, problem.space, evaluator, stop)) {
      return no_arrangement(problem, placer.memory_that_fits(shards));
    }
  }
  return stopped_before_plan();
}

}  // namespace

Result<SearchResult> shard_neuroshard_within(const Problem& problem, PlanEvaluator& evaluator,
                                             const SearchOptions& options, BeamOptions beam,
                                             const StopCheck& patience) {
  NEUROSHARD_RETURN_IF_ERROR(check_pieces(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_finest_pieces(problem));
  const StopCheck stop(options);
  if (stop.cancelled()) return stopped_before_plan();
  BeamResult best =
      beam_search(problem, evaluator, fewest_shards(problem.space, evaluator), beam, options, stop);
  std::int64_t evaluations = best.evaluations;
  if (!best.placement.feasible) {
    beam.grid.last_resort = true;
    NEUROSHARD_ASSIGN_OR_RETURN(ShardSet start,
                                split_until_placed(problem, evaluator, beam.grid, patience));
    best = beam_search(problem, evaluator, std::move(start), beam, options, stop);
    evaluations += best.evaluations;
  }
  GridPlacer placer(evaluator, problem.cluster, beam.grid);
  const std::vector<std::int32_t> device_of = placer.assign(best.shards, best.placement.rule);
  return SearchResult{best.shards.plan(problem.cluster.devices, device_of), evaluations,
                      best.stopped_early};
}

Result<SearchResult> shard_neuroshard(const Problem& problem, PlanEvaluator& evaluator,
                                      const SearchOptions& options) {
  return shard_neuroshard_within(problem, evaluator, options, {},
                                 StopCheck(with_patience(options)));
}

}  // namespace neuroshard::search
