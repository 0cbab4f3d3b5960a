#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/rng.h"
#include "search/local/comm_response.h"
#include "search/local/cost_estimate.h"
#include "search/local/local_walk.h"
#include "search/local/plan_coster.h"

namespace neuroshard::search {

/// Metropolis search whose steps give whole tables another layout (see random_division(); also over
/// hosts, or replicated, where the catalog has that): costly steps, but they lead where moves
/// between two devices do not. Every now and then it goes back to its best plan, where the
/// objective is not softened. Not thread-safe; one a thread, for any number of walks.
class RelayoutWalk {
 public:
  RelayoutWalk(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog);

  /// At most `budget` steps from `start`, which has to be within the memory limit; 0: until
  /// `progress`, asked every few steps, says 1. Pieces go to random places, and what counts is the
  /// plan's cost.
  WalkResult run(const Assignment& start, std::int64_t budget, Rng rng,
                 const WalkProgress& progress);

  /// The same over all layouts that the catalog has: tables also go on all devices, in any two
  /// widths, and half of the time joined to what is there of them. On the way, memory that devices
  /// lack counts as time.
  WalkResult run_freely(const Assignment& start, std::int64_t budget, Rng rng,
                        const WalkProgress& progress);

  /// The same where pieces cost what is beside them. Half of the time a table's new pieces begin
  /// with the devices that it was on. What else those have is then dealt out anew, the heaviest
  /// first, each to the device that has the least load with it. Where `options` soften the
  /// objective, that counts, with their temperatures (see CostEstimate).
  WalkResult run_dealing(const Assignment& start, std::int64_t budget, const WalkOptions& options,
                         const CommResponse& response, Rng rng, const WalkProgress& progress);

 private:
  /// How steps are made and judged.
  struct Mode {
    bool deals = false;
    bool free = false;
    WalkOptions options{};  ///< of what is softened
    [[nodiscard]] bool softened() const { return options.last_norm > 0; }
  };

  WalkResult walk(const Assignment& start, std::int64_t budget, const Mode& mode, Rng rng,
                  const WalkProgress& progress);
  void relayout(std::int32_t table, const Mode& mode, Rng& rng);
  [[nodiscard]] std::vector<EntryId> draw_pieces(std::int32_t table, bool free, Rng& rng) const;
  bool join(EntryId piece, std::int32_t device);
  [[nodiscard]] double memory_penalty_ms() const;
  [[nodiscard]] std::vector<std::int32_t> devices_with(std::int32_t table) const;
  [[nodiscard]] std::vector<std::int32_t> devices_of(std::int32_t table, Rng& rng) const;
  [[nodiscard]] std::int32_t draw_place(EntryId piece, bool with_room, bool by_load,
                                        Rng& rng) const;
  void deal_out_others(std::int32_t table, Rng& rng);
  [[nodiscard]] double weight_of(EntryId piece) const;
  [[nodiscard]] std::int32_t least_loaded_with(EntryId piece, Rng& rng) const;
  void apply(const Edit& edit) { undo_.push_back(plan_.apply(edit)); }
  void take_back();
  double cost(bool in_detail);
  double softened_objective();

  const PlanEvaluator& evaluator_;
  const std::int64_t memory_bytes_;
  LocalPlan plan_;
  Scratch scratch_;
  PlanCoster coster_;
  CommResponse response_;
  CostEstimate estimate_{{}, 0};
  std::vector<Edit> undo_;
  std::vector<EntryId> dealt_;  // what deal_out_others() takes off
  bool complete_ = true;        // whether relayout() found a place for every piece
};

}  // namespace neuroshard::search
