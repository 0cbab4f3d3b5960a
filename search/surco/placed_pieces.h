#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/plan_cost.h"
#include "search/plan_evaluator.h"
#include "search/policy/policy_pieces.h"

namespace neuroshard::search {

/// Pieces on their devices, and what each adds to the compute of any device. Not thread-safe; the
/// evaluator must outlive it.
class PlacedPieces {
 public:
  explicit PlacedPieces(const PlanEvaluator& evaluator);

  /// Puts each piece on its shard's device, in their order.
  void place(std::span<const PolicyPiece> pieces);

  [[nodiscard]] const PlacedPlan& placed() const { return placed_; }

  /// added_ms[p, d] = milliseconds of device d with piece p less those without it, the other pieces
  /// where they are. `pieces` are those placed last.
  void added_compute(std::span<const PolicyPiece> pieces, std::span<double> added_ms);

 private:
  void add_own(std::span<const PolicyPiece> pieces, std::span<const std::size_t> held,
               std::size_t device, std::span<double> added_ms);

  const PlanEvaluator& evaluator_;
  const std::size_t devices_;
  const std::size_t state_size_;
  AlignedVector<float> states_;  // [devices, state_size]
  PlacedPlan placed_;
  std::vector<float> with_;        // [devices]
  AlignedVector<float> prefixes_;  // [pieces of a device, state_size]
  AlignedVector<float> suffix_;    // [state_size]
};

}  // namespace neuroshard::search
