#include "search/replan/tidy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/local/moves.h"
#include "search/local/plan_coster.h"
#include "search/replan/moved_cells.h"

namespace neuroshard::search {
namespace {

class Tidying {
 public:
  Tidying(const CellPlan& start, const RunningPlan& now, std::int64_t& evaluations,
          const std::function<bool()>& stop)
      : held_(now.held),
        memory_bytes_(now.problem.cluster.memory_bytes),
        evaluations_(evaluations),
        stop_(stop),
        cells_(now.held, now.catalog, std::numeric_limits<std::int64_t>::max(), now.hosts),
        plan_(now.problem, now.evaluator, now.catalog),
        coster_(now.evaluator) {
    plan_.assign(start.pieces);
    cells_.start(start, 0);
    cost_ = cost();
  }

  CellPlan run() {
    send_home();
    join_neighbours();
    return {plan_.assignment(), cells_.cells()};
  }

 private:
  double cost() {
    ++evaluations_;
    return coster_.cost(plan_);
  }
  [[nodiscard]] const Shard& cells_of(std::int32_t piece) const {
    return cells_.cells()[static_cast<std::size_t>(piece)];
  }

  /// Whether the plan may have the move and gets no dearer by it.
  bool make(Move move) {
    if (!price(plan_, memory_bytes_, move)) return false;
    if (std::isinf(cells_.price_ms(plan_, move))) return false;
    cells_.make();
    const Edits undo = search::make(plan_, move);
    const double moved = cost();
    if (moved <= cost_) {
      cost_ = moved;
      cells_.stand(false);
      return true;
    }
    take_back(plan_, move, undo);
    cells_.take_back();
    return false;
  }

  [[nodiscard]] bool moves(std::int32_t piece) const {
    return plan_.catalog().entry(plan_.placed(piece).entry).moves();
  }

  void send_home() {
    std::vector<std::int32_t> away;
    for (std::int32_t piece = 0; piece < std::ssize(cells_.cells()); ++piece) {
      if (cells_.moved_bytes(piece) > 0 && moves(piece)) away.push_back(piece);
    }
    std::stable_sort(away.begin(), away.end(), [&](std::int32_t a, std::int32_t b) {
      return cells_.moved_bytes(a) > cells_.moved_bytes(b);
    });
    for (const std::int32_t piece : away) {
      if (stop_()) return;
      const std::int32_t home = held_.home_of(cells_of(piece));
      if (home != kEveryDevice && home != plan_.placed(piece).device) {
        make(shift_of(plan_, piece, home));
      }
    }
  }

  void join_neighbours() {
    const std::span<const std::int32_t> split = plan_.split_tables();
    std::vector<std::int32_t> tables(split.begin(), split.end());
    std::sort(tables.begin(), tables.end());
    for (const std::int32_t table : tables) {
      while (!stop_() && join_two(table)) {
      }
    }
  }

  bool join_two(std::int32_t table) {
    const std::span<const std::int32_t> of_table = plan_.pieces_of(table);
    std::vector<std::int32_t> pieces(of_table.begin(), of_table.end());
    std::sort(pieces.begin(), pieces.end(), [&](std::int32_t a, std::int32_t b) {
      return cells_of(a).column_begin < cells_of(b).column_begin;
    });
    for (std::size_t k = 1; k < pieces.size(); ++k) {
      const Placed first = plan_.placed(pieces[k - 1]);
      const Placed next = plan_.placed(pieces[k]);
      if (first.device != next.device) continue;
      const EntryId joined = plan_.catalog().joined(first.entry, next.entry);
      if (joined == kNoEntry) continue;
      if (make(merge_of(plan_, pieces[k - 1], pieces[k], joined, kNoPiece))) return true;
    }
    return false;
  }

  const HeldCells& held_;
  const std::int64_t memory_bytes_;
  std::int64_t& evaluations_;
  const std::function<bool()>& stop_;
  MovedCells cells_;
  LocalPlan plan_;
  PlanCoster coster_;
  double cost_ = 0;
};

}  // namespace

CellPlan tidy(const CellPlan& start, const RunningPlan& now, std::int64_t& evaluations,
              const std::function<bool()>& stop) {
  return Tidying(start, now, evaluations, stop).run();
}

}  // namespace neuroshard::search
