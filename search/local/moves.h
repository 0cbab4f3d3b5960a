#pragma once

#include <cstdint>
#include <utility>

#include "engine/core/rng.h"
#include "search/local/local_plan.h"
#include "search/local/move.h"

namespace neuroshard::search {

/// `piece` to another device.
Move shift_of(const LocalPlan& plan, std::int32_t piece, std::int32_t device);
/// `piece` and `other`, which is on another device, change places; with `another` (or kNoPiece) of
/// that device beside the latter.
Move swap_of(const LocalPlan& plan, std::int32_t piece, std::int32_t other, std::int32_t another);
/// One half of `piece` stays, the other goes to another device, where `other` (or kNoPiece) makes
/// room for it by coming back. REQUIRES that the halves are those of the piece.
Move split_of(const LocalPlan& plan, std::int32_t piece, EntryId stays, EntryId leaves,
              std::int32_t device, std::int32_t other);
/// Two pieces of a table become one, `merged`, where `stays` is; `other` of that device (or
/// kNoPiece) makes room for it by going where `goes` was. REQUIRES two devices for that.
Move merge_of(const LocalPlan& plan, std::int32_t stays, std::int32_t goes, EntryId merged,
              std::int32_t other);

/// Columns of `piece` become columns of `other`, of the same table on another device: the two have
/// the entries `keeps` and `gets` then. REQUIRES that these have as many columns together.
Move resize_of(const LocalPlan& plan, std::int32_t piece, EntryId keeps, std::int32_t other,
               EntryId gets);

/// Makes the move. Returns what takes it back, edit by edit.
Edits make(LocalPlan& plan, const Move& move);
void take_back(LocalPlan& plan, const Move& move, const Edits& undo);

/// Fills in dims and compute costs; false when a device has not the memory or may not have a piece.
bool price(LocalPlan& plan, std::int64_t memory_bytes, Move& move);

/// Shares of the kinds of moves; what is left are moves of one piece to another device.
struct MoveMix {
  double swap = 0.5;
  double split = 0.1;
  double merge = 0.1;
  /// Columns from a piece to another of its table, where they may be in any widths.
  double resize = 0;
  /// Some columns of two such tables for each other, see draw_trade(). No MoveGuard knows them.
  double trade = 0;
  /// Of the splits of such tables, those that are not in the middle.
  double uneven = 0;
  /// Of all contents of two devices, where devices are not alike to the cost models.
  double exchange = 0.02;
  /// Moves that begin at the device they are told is the busiest.
  double busiest = 0.3;
};

/// Two devices: `busiest` in that share of the draws, else any, and any other. REQUIRES two.
inline std::pair<std::int32_t, std::int32_t> draw_pair(std::int32_t of, std::int32_t busiest,
                                                       double share, Rng& rng) {
  const auto devices = static_cast<std::uint64_t>(of);
  const bool at_busiest = rng.uniform() < share;
  const std::int32_t a = at_busiest ? busiest : static_cast<std::int32_t>(rng.below(devices));
  const auto b = static_cast<std::int32_t>(rng.below(devices - 1));
  return {a, b >= a ? b + 1 : b};
}

/// Draws random moves that keep to the memory limit and to the devices that tables may be on. Not
/// thread-safe.
class MoveSource {
 public:
  /// `devices_alike`: see PlanEvaluator. A `memory_bytes` no plan exceeds now.
  MoveSource(const MoveMix& mix, std::int64_t memory_bytes, bool devices_alike)
      : mix_(mix), memory_bytes_(memory_bytes), devices_alike_(devices_alike) {}

  /// Draws a move and puts costs on it; false when the draw came to nothing (a piece that cannot be
  /// split, no memory, ...). Time does not depend on the number of tables but for the logarithm of
  /// a device's pieces. REQUIRES at least two devices.
  bool draw(LocalPlan& plan, std::int32_t busiest, Rng& rng, Move& move) const;

 private:
  bool draw_edits(const LocalPlan& plan, std::int32_t busiest, Rng& rng, Move& move) const;

  const MoveMix mix_;
  const std::int64_t memory_bytes_;
  const bool devices_alike_;
};

}  // namespace neuroshard::search
