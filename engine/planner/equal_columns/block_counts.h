#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/rng.h"
#include "engine/core/table.h"
#include "search/plan_evaluator.h"
#include "search/problem.h"

namespace neuroshard {

/// In how many blocks each table is, and which of its devices the first is dealt, where the blocks
/// have to be kept apart: see in_parts().
struct BlockChoice {
  std::vector<std::int32_t> parts;
  std::vector<std::int32_t> turns;

  friend bool operator==(const BlockChoice&, const BlockChoice&) = default;
};

/// Choices worth a try. Not thread-safe.
class BlockCounts {
 public:
  /// The problem must outlive it; `evaluator` is of its workload. With `replicas`, tables may be
  /// on all devices, with `rows` their rows dealt out to all.
  BlockCounts(const search::Problem& problem, search::PlanEvaluator& evaluator, bool replicas,
              bool rows, std::uint64_t seed);

  /// Whether every table may be in some number of blocks. REQUIRED by what follows.
  [[nodiscard]] bool possible() const;
  /// Blocks about as wide as the widest of each table in a plan: no wider, or else no finer.
  BlockChoice like(const Plan& plan, bool finer);
  /// The fewest blocks of at most so many bytes each, or the most that there may be.
  BlockChoice within(std::int64_t bytes);
  /// The choice, but for a table or some: one step more or fewer blocks, or in another turn. Dear
  /// tables change more often.
  BlockChoice neighbour(BlockChoice choice);

 private:
  BlockChoice with_turns(std::vector<std::int32_t> parts);
  std::int32_t draw_turn() { return static_cast<std::int32_t>(rng_.below(devices_)); }
  std::size_t draw_table();

  const search::Problem& problem_;
  const std::uint64_t devices_;
  Rng rng_;
  std::vector<std::vector<std::int32_t>> possible_;  ///< by table, ascending
  std::vector<double> ms_up_to_;                     ///< of whole tables, added up
};

}  // namespace neuroshard
