#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/rng.h"
#include "engine/core/weighted_draw.h"
#include "search/local/shape_catalog.h"
#include "search/plan_evaluator.h"
#include "search/problem.h"
#include "search/refine/divider.h"

namespace neuroshard::search {

/// In which equal blocks each table of a catalog may be (equal_columns.h), chosen for all of them
/// at once. Not thread-safe.
class BlockChoices {
 public:
  /// What the pieces of each table are; the whole of one that may be in no equal blocks.
  using Choice = std::vector<EntryId>;

  /// What it is made of must outlive it. The same seed draws the same.
  BlockChoices(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
               std::uint64_t seed);

  /// Blocks about as wide as the widest of each table in a plan: no wider, or else no finer.
  [[nodiscard]] Choice like(const Plan& plan, bool finer) const;
  /// The fewest blocks of at most so many bytes and columns each, or the most that there may be.
  [[nodiscard]] Choice within(std::int64_t bytes, std::int32_t columns) const;
  /// The choice, but so many of the largest tables have their rows over all devices, if they may.
  [[nodiscard]] Choice with_rows(Choice choice, std::int32_t tables) const;
  /// The choice, but for one to three tables, which have a step more or fewer blocks, or any other.
  /// Costly tables change more often.
  [[nodiscard]] Choice neighbour(Choice choice);
  /// What is to be placed. Tables that may be in no equal blocks are halved until pieces fit.
  [[nodiscard]] Pieces pieces_of(const Choice& choice) const;

 private:
  [[nodiscard]] EntryId block_like(std::span<const Shard> shards, std::int32_t devices,
                                   bool finer) const;
  void add_halves(EntryId id, Pieces& pieces) const;

  const Problem& problem_;
  const ShapeCatalog& catalog_;
  Rng rng_;
  std::vector<std::vector<EntryId>>
      blocks_;           ///< of each table: columns, the widest first, then rows
  WeightedDraw tables_;  ///< by milliseconds of whole ones
};

}  // namespace neuroshard::search
