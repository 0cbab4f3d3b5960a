#include "search/replan/moved_cells.h"

#include <algorithm>
#include <limits>

namespace neuroshard::search {

void MovedCells::start(const CellPlan& plan, double ms_per_byte) {
  ms_per_byte_ = ms_per_byte;
  cells_ = plan.cells;
  bytes_.clear();
  moved_bytes_ = 0;
  hosts_.clear();
  for (std::size_t k = 0; k < cells_.size(); ++k) {
    const bool in_use = plan.pieces[k].device != kNoDevice;
    bytes_.push_back(in_use ? held_.missing_bytes(cells_[k]) : 0);
    moved_bytes_ += bytes_.back();
    if (!in_use) cells_[k].device = kNoDevice;
    hosts_.add(cells_[k]);
  }
  undo_.clear();
  best_ = cells_;
}

double MovedCells::price_ms(const LocalPlan& plan, const Move& move) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  priced_.count = 0;
  if (!describe(plan, move, priced_)) return kNever;
  std::int64_t more = 0;
  for (Piece& piece : priced()) {
    const auto index = static_cast<std::size_t>(piece.number);
    piece.bytes = piece.cells.device == kNoDevice ? 0 : held_.missing_bytes(piece.cells);
    more += piece.bytes - (index < bytes_.size() ? bytes_[index] : 0);
  }
  if (moved_bytes_ + more > limit_bytes_ || !fits_hosts()) return kNever;
  return ms_per_byte_ * static_cast<double>(more);
}

/// Whether hosts have memory for the pieces as priced.
bool MovedCells::fits_hosts() {
  if (!hosts_.watched()) return true;
  const auto change = [&](bool back) {
    for (const Piece& piece : priced()) {
      const auto index = static_cast<std::size_t>(piece.number);
      Shard before;
      before.device = kNoDevice;
      if (index < cells_.size()) before = cells_[index];
      hosts_.remove(back ? piece.cells : before);
      hosts_.add(back ? before : piece.cells);
    }
  };
  change(false);
  const bool fits = hosts_.fits();
  change(true);
  return fits;
}

void MovedCells::make() {
  for (const Piece& piece : priced()) {
    const auto index = static_cast<std::size_t>(piece.number);
    if (index >= cells_.size()) {
      cells_.resize(index + 1);
      cells_.back().device = kNoDevice;
      bytes_.resize(index + 1);
    }
    undo_.push_back({piece.number, cells_[index], bytes_[index]});
    put(piece);
  }
}

void MovedCells::put(const Piece& piece) {
  const auto index = static_cast<std::size_t>(piece.number);
  moved_bytes_ += piece.bytes - bytes_[index];
  hosts_.remove(cells_[index]);
  hosts_.add(piece.cells);
  cells_[index] = piece.cells;
  bytes_[index] = piece.bytes;
}

void MovedCells::stand(bool best) {
  undo_.clear();
  if (best) best_ = cells_;
}

void MovedCells::take_back() {
  for (; !undo_.empty(); undo_.pop_back()) put(undo_.back());
}

/// False for a move that may not be made: pieces joined that are not side by side, or blocks that
/// come beside others.
bool MovedCells::describe(const LocalPlan& plan, const Move& move, Change& change) const {
  const std::span<const Edit> edits(move.edits.data(), static_cast<std::size_t>(move.edit_count));
  const Edit& first = edits[0];
  if (first.piece == kNoPiece) return false;
  std::size_t described = 0;
  if (first.to.device == kNoDevice) {
    if (!describe_merge(move, change)) return false;
    described = 2;
  } else if (first.to.entry != plan.placed(first.piece).entry) {
    describe_split(move, change);
    described = 2;
  }
  for (const Edit& edit : edits.subspan(described)) {
    change.add(edit.piece, cells_of(edit.piece), edit.to.device);
  }
  const std::span<const Piece> pieces(change.pieces.data(), change.count);
  return std::all_of(pieces.begin(), pieces.end(),
                     [&](const Piece& piece) { return alone(plan, change, piece); });
}

/// Whether its device has no other block of its table after the move. Also true of one that goes.
bool MovedCells::alone(const LocalPlan& plan, const Change& change, const Piece& piece) const {
  const std::span<const Piece> touched(change.pieces.data(), change.count);
  const Shard& cells = piece.cells;
  if (cells.device == kNoDevice) return true;
  for (const Piece& other : touched) {
    const bool beside = other.cells.device == cells.device && other.cells.table == cells.table;
    if (other.number != piece.number && beside) return false;
  }
  const std::span<const std::int32_t> siblings = plan.pieces_of(cells.table);
  return std::none_of(siblings.begin(), siblings.end(), [&](std::int32_t other) {
    return plan.placed(other).device == cells.device &&
           std::none_of(touched.begin(), touched.end(),
                        [&](const Piece& own) { return own.number == other; });
  });
}

/// The half that stays may be the first or the last columns.
void MovedCells::describe_split(const Move& move, Change& change) const {
  const Edit& stays = move.edits[0];
  const Edit& leaves = move.edits[1];
  const Shard& whole = cells_of(stays.piece);
  const std::int32_t dim = catalog_.entry(stays.to.entry).dim;
  std::int64_t least = 0;
  for (const bool keeps_first : {true, false}) {
    Shard kept = whole;
    Shard rest = whole;
    rest.device = leaves.to.device;
    const std::int32_t cut = keeps_first ? whole.column_begin + dim : whole.column_end - dim;
    (keeps_first ? kept : rest).column_end = cut;
    (keeps_first ? rest : kept).column_begin = cut;
    const std::int64_t bytes = held_.missing_bytes(kept) + held_.missing_bytes(rest);
    if (!keeps_first && bytes >= least) return;
    least = bytes;
    change.count = 0;
    change.add(stays.piece, kept, kept.device);
    change.add(leaves.piece, rest, rest.device);
  }
}

bool MovedCells::describe_merge(const Move& move, Change& change) const {
  const Shard& goes = cells_of(move.edits[0].piece);
  Shard both = cells_of(move.edits[1].piece);
  if (goes.column_end == both.column_begin) {
    both.column_begin = goes.column_begin;
  } else if (both.column_end == goes.column_begin) {
    both.column_end = goes.column_end;
  } else {
    return false;
  }
  change.add(move.edits[0].piece, goes, kNoDevice);
  change.add(move.edits[1].piece, both, both.device);
  return true;
}

}  // namespace neuroshard::search
