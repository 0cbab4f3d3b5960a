#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/held_cells.h"
#include "search/local/local_plan.h"
#include "search/local/move_guard.h"
#include "search/replan/cell_plan.h"
#include "search/replan/host_loads.h"

namespace neuroshard::search {

/// Which cells the pieces of a walk's plan are, and how many bytes are on devices that do not hold
/// them now: those may not be more than a limit, nor what hosts have in their memory. Pieces are
/// joined only where their cells are side by side, and of a split piece that half leaves which
/// costs fewer bytes. Beside another block of its table on a device nothing comes, is split or
/// joined: the device would look its indices up once more for it, and trainers have such blocks in
/// ways of their own.
class MovedCells final : public MoveGuard {
 public:
  /// What it is made from must outlive it.
  MovedCells(const HeldCells& held, const ShapeCatalog& catalog, std::int64_t limit_bytes,
             const HostLoads& hosts)
      : held_(held), catalog_(catalog), limit_bytes_(limit_bytes), hosts_(hosts) {}

  /// Starts over with that plan, which keeps to the hosts' memory; a byte that moves weighs
  /// `ms_per_byte`. REQUIRES cells for all of its pieces.
  void start(const CellPlan& plan, double ms_per_byte);

  double price_ms(const LocalPlan& plan, const Move& move) override;
  void make() override;
  void stand(bool best) override;
  void take_back() override;
  [[nodiscard]] double weight_ms() const override {
    return ms_per_byte_ * static_cast<double>(moved_bytes_);
  }

  /// By piece; a piece not in use has any.
  [[nodiscard]] const std::vector<Shard>& cells() const { return cells_; }
  /// The same of the last plan that stood as the best, or of the start.
  [[nodiscard]] const std::vector<Shard>& best() const { return best_; }
  [[nodiscard]] std::int64_t moved_bytes() const { return moved_bytes_; }
  [[nodiscard]] std::int64_t moved_bytes(std::int32_t piece) const {
    return bytes_[static_cast<std::size_t>(piece)];
  }

 private:
  struct Piece {
    std::int32_t number = kNoPiece;
    Shard cells;
    std::int64_t bytes = 0;  // that move
  };
  /// What a move makes of the pieces it touches.
  struct Change {
    std::array<Piece, 3> pieces;
    std::size_t count = 0;

    void add(std::int32_t number, Shard cells, std::int32_t device) {
      cells.device = device;
      pieces[count++] = {number, cells, 0};
    }
  };
  std::span<Piece> priced() { return {priced_.pieces.data(), priced_.count}; }
  [[nodiscard]] const Shard& cells_of(std::int32_t piece) const {
    return cells_[static_cast<std::size_t>(piece)];
  }
  bool describe(const LocalPlan& plan, const Move& move, Change& change) const;
  void describe_split(const Move& move, Change& change) const;
  bool describe_merge(const Move& move, Change& change) const;
  [[nodiscard]] bool alone(const LocalPlan& plan, const Change& change, const Piece& piece) const;
  [[nodiscard]] bool fits_hosts();
  void put(const Piece& piece);

  const HeldCells& held_;
  const ShapeCatalog& catalog_;
  const std::int64_t limit_bytes_;
  HostLoads hosts_;
  std::vector<Shard> cells_;
  std::vector<std::int64_t> bytes_;
  std::int64_t moved_bytes_ = 0;
  double ms_per_byte_ = 0;
  Change priced_;
  std::vector<Piece> undo_;  // since moves last stood
  std::vector<Shard> best_;
};

}  // namespace neuroshard::search
