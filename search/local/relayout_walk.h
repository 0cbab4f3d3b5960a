#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/core/rng.h"
#include "search/local/local_walk.h"

namespace neuroshard::search {

/// Metropolis search whose steps give whole tables another layout (see random_division(); also over
/// hosts, or replicated, where the catalog has that): costly steps, but they lead where moves
/// between two devices do not. Every now and then it goes back to its best plan. Not thread-safe;
/// one a thread, for any number of walks.
class RelayoutWalk {
 public:
  /// Whether to stop, asked every few steps with the steps done.
  using Stop = std::function<bool(std::int64_t steps)>;

  RelayoutWalk(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog);

  /// At most `budget` steps from `start`, which has to be within the memory limit; 0: until `stop`.
  WalkResult run(const Assignment& start, std::int64_t budget, Rng rng, const Stop& stop);

 private:
  [[nodiscard]] std::int32_t draw_place(EntryId piece, bool with_room, Rng& rng) const;
  [[nodiscard]] std::vector<EntryId> draw_pieces(std::int32_t table, Rng& rng) const;
  void relayout(std::int32_t table, Rng& rng);
  void apply(const Edit& edit) { undo_.push_back(plan_.apply(edit)); }
  [[nodiscard]] bool fits() const;
  double cost();

  const PlanEvaluator& evaluator_;
  const std::int64_t memory_bytes_;
  LocalPlan plan_;
  Scratch scratch_;
  std::vector<Edit> undo_;
};

}  // namespace neuroshard::search
