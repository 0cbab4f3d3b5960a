#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/core/rng.h"
#include "search/local/local_plan.h"
#include "search/local/moves.h"
#include "search/plan_evaluator.h"

namespace neuroshard::search {

/// Moves that deal out all pieces of two devices anew: one gets the widest, the other the rest, cut
/// to at most so many columns, sometimes on both. Kernels that read a wide table have many lanes of
/// a GPU read the narrow ones beside it, too, which costs more than narrow ones take by themselves;
/// from one way to put widths together to another it is too far for moves of single pieces. Not
/// thread-safe.
class PairDealer {
 public:
  PairDealer(const PlanEvaluator& evaluator, std::int64_t memory_bytes)
      : evaluator_(evaluator), memory_bytes_(memory_bytes), state_(evaluator.state_size()) {}

  /// Of `busiest`, sometimes, or any device, and any other. Fills in what the two cost after it, as
  /// MoveSource::draw() does, but no edits. False when the draw came to nothing.
  bool draw(const LocalPlan& plan, std::int32_t busiest, Rng& rng, Move& move);

  /// Makes the move that was drawn last, and adds what takes it back to `undo`. REQUIRES the plan
  /// that it was drawn for.
  void make(LocalPlan& plan, std::vector<Edit>& undo) const;

 private:
  /// A piece, and what it becomes where it is cut.
  struct Dealt {
    EntryId entry = kNoEntry;
    std::int32_t piece = kNoPiece;
    bool wide = false;
    double alone_ms = 0;
    std::int32_t dim = 0;
    std::size_t parts_begin = 0;
    std::size_t parts_end = 0;
  };
  /// What a device holds: of the first pieces, or of the last.
  struct Load {
    float ms = 0;
    std::int64_t bytes = 0;
    std::int64_t dims = 0;
  };

  bool collect(const LocalPlan& plan, std::int32_t most_columns);
  Load begin(const LocalPlan& plan, std::int32_t device);
  void add(const CatalogEntry& entry, Load& load);
  void cost_cuts(const LocalPlan& plan);
  [[nodiscard]] std::size_t best_cut() const;
  [[nodiscard]] bool changes(const LocalPlan& plan) const;
  [[nodiscard]] std::span<const EntryId> parts_of(const Dealt& dealt) const {
    return std::span(parts_).subspan(dealt.parts_begin, dealt.parts_end - dealt.parts_begin);
  }
  [[nodiscard]] std::span<const EntryId> pieces_on_wide(const Dealt& dealt) const {
    return cuts_all_ ? parts_of(dealt) : std::span(&dealt.entry, 1);
  }

  const PlanEvaluator& evaluator_;
  const std::int64_t memory_bytes_;
  AlignedVector<float> state_;
  std::int32_t wide_ = 0;    // the device of the first pieces ..
  std::int32_t narrow_ = 0;  // .. and of the others
  bool cuts_all_ = false;
  std::vector<Dealt> dealt_;
  std::vector<EntryId> parts_;
  std::vector<Load> wide_loads_;    // with the first k pieces
  std::vector<Load> narrow_loads_;  // with all but these
  std::size_t cut_ = 0;
};

}  // namespace neuroshard::search
