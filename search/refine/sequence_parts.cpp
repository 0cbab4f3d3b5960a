#include "search/refine/sequence_parts.h"

#include <algorithm>
#include <utility>

#include "search/piece_sizes.h"
#include "search/refine/fast_start.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

// Pieces of a table that are tried at most: a device with some of them has nearly an even share.
// (One table on 3 devices: halves leave one without any, sixteenths have 6, 5 and 5.)
constexpr std::int32_t kPartsPerDevice = 4;
constexpr std::int32_t kMostParts = 64;
constexpr double kPartsShare =
    0.05;  // of the time left, or of the budget, for one number of pieces
constexpr double kPartsSeconds = 0.005;  // or this much, if there is

/// Whether a table is in more pieces than in half as many.
bool any_finer(const SearchSpace& space, std::int32_t parts) {
  return std::any_of(space.tables.begin(), space.tables.end(), [&](TableSpace own) {
    if (own.table->pooled || !own.sharding.columns || own.sequence_parts > 0) return false;
    own.sequence_parts = parts / 2;
    const std::int32_t wider = sequence_columns(own);
    own.sequence_parts = parts;
    return sequence_columns(own) < wider;
  });
}

std::optional<StartPlan> start_in(const Problem& problem, PlanEvaluator& evaluator,
                                  const RowShapes& rows, const SearchOptions& options,
                                  std::chrono::steady_clock::time_point began) {
  const ShapeCatalog catalog(problem.space, evaluator, rows, options.cancel);
  if (!catalog.complete()) return std::nullopt;
  return fast_start(problem, evaluator, catalog,
                    share_of_time(options, began, kPartsShare, kPartsSeconds),
                    budget_share(options, kPartsShare));
}

}  // namespace

SearchSpace with_sequence_parts(SearchSpace space, std::int32_t parts) {
  for (TableSpace& own : space.tables) {
    if (own.sequence_parts == 0) own.sequence_parts = parts;
  }
  return space;
}

std::int32_t sequence_parts_of(const Plan& plan, const SearchSpace& space) {
  std::int32_t parts = 2;
  for (const Shard& shard : plan.shards) {
    const Table& table = *space.of(shard.table).table;
    if (!table.pooled) parts = std::max(parts, table.dim / shard.dim());
  }
  return parts;
}

Problem with_sequence_parts(const Problem& problem, std::int32_t parts) {
  return {problem.workload, problem.cluster, with_sequence_parts(problem.space, parts),
          problem.on_more_devices};
}

Problem with_finest_sequences(const Problem& problem) {
  std::int32_t parts = 2;
  while (parts < kMostParts && parts < kPartsPerDevice * problem.cluster.devices) parts *= 2;
  return with_sequence_parts(problem, parts);
}

std::optional<StartPlan> finer_sequences(const Problem& problem, PlanEvaluator& evaluator,
                                         const RowShapes& rows, const SearchOptions& options,
                                         std::chrono::steady_clock::time_point began, double cost,
                                         std::int64_t& evaluations) {
  const StopCheck over(options);
  std::optional<StartPlan> best;
  for (std::int32_t parts = 4; parts <= kMostParts; parts *= 2) {
    const bool many = parts / 2 >= kPartsPerDevice * problem.cluster.devices;
    if (many || !any_finer(problem.space, parts) || over.stop()) break;
    const Problem finer = with_sequence_parts(problem, parts);
    std::optional<StartPlan> found = start_in(finer, evaluator, rows, options, began);
    if (!found) continue;
    evaluations += found->evaluations;
    if (found->cost >= cost) continue;
    cost = found->cost;
    best = std::move(found);
  }
  return best;
}

}  // namespace neuroshard::search
