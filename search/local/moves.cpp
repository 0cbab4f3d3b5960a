#include "search/local/moves.h"

#include <utility>

namespace neuroshard::search {
namespace {

template <typename T>
T any_of(std::span<const T> choices, Rng& rng) {
  return choices[rng.below(choices.size())];
}

bool one_in_two(Rng& rng) { return rng.below(2) == 0; }

void add_edit(Move& move, std::int32_t piece, EntryId entry, std::int32_t device) {
  move.edits[static_cast<std::size_t>(move.edit_count++)] = {piece, {entry, device}, {}};
}

/// `piece` to device b.
bool draw_shift(const LocalPlan& plan, std::int32_t piece, Move& move) {
  const EntryId entry = plan.placed(piece).entry;
  move.changes[0].without[0] = piece;
  move.changes[1].with[0] = entry;
  add_edit(move, piece, entry, move.changes[1].device);
  return true;
}

/// `piece` for a random one of device b.
bool draw_swap(const LocalPlan& plan, std::int32_t piece, Rng& rng, Move& move) {
  const auto [a, b] = std::pair(move.changes[0].device, move.changes[1].device);
  if (plan.pieces_on(b).empty()) return false;
  const std::int32_t other = any_of(plan.pieces_on(b), rng);
  const EntryId entry = plan.placed(piece).entry;
  const EntryId other_entry = plan.placed(other).entry;
  if (entry == other_entry) return false;
  move.changes[0].without[0] = piece;
  move.changes[0].with[0] = other_entry;
  move.changes[1].without[0] = other;
  move.changes[1].with[0] = entry;
  add_edit(move, piece, entry, b);
  add_edit(move, other, other_entry, a);
  return true;
}

/// One half of `piece` to device b, half of the time against a random piece of b.
bool draw_split(const LocalPlan& plan, std::int32_t piece, Rng& rng, Move& move) {
  const auto [a, b] = std::pair(move.changes[0].device, move.changes[1].device);
  const CatalogEntry& entry = plan.entry_of(piece);
  if (entry.first == kNoEntry) return false;
  const bool first_stays = one_in_two(rng);
  const EntryId stays = first_stays ? entry.first : entry.rest;
  const EntryId leaves = first_stays ? entry.rest : entry.first;
  move.changes[0].without[0] = piece;
  move.changes[0].with[0] = stays;
  move.changes[1].with[0] = leaves;
  add_edit(move, piece, stays, a);
  add_edit(move, plan.next_piece(), leaves, b);
  if (plan.pieces_on(b).empty() || one_in_two(rng)) return true;
  const std::int32_t other = any_of(plan.pieces_on(b), rng);
  const EntryId other_entry = plan.placed(other).entry;
  move.changes[0].with[1] = other_entry;
  move.changes[1].without[0] = other;
  add_edit(move, other, other_entry, a);
  return true;
}

/// Two pieces of a split table become one where the first of them is.
bool draw_merge(const LocalPlan& plan, Rng& rng, Move& move) {
  if (plan.split_tables().empty()) return false;
  const std::int32_t table = any_of(plan.split_tables(), rng);
  const std::int32_t stays = any_of(plan.pieces_of(table), rng);
  const std::int32_t goes = any_of(plan.pieces_of(table), rng);
  if (stays == goes) return false;
  const EntryId merged =
      plan.catalog().find(table, plan.entry_of(stays).dim + plan.entry_of(goes).dim);
  if (merged == kNoEntry) return false;
  const std::int32_t a = plan.placed(stays).device;
  const std::int32_t b = plan.placed(goes).device;
  move.changes[0] = {a, {stays, kNoPiece}, {merged, kNoEntry}};
  if (a == b) {
    move.changes[0].without[1] = goes;
    move.changes[1] = {};
  } else {
    move.changes[1] = {b, {goes, kNoPiece}, {kNoEntry, kNoEntry}};
  }
  add_edit(move, goes, kNoEntry, kNoDevice);
  add_edit(move, stays, merged, a);
  return true;
}

}  // namespace

bool MoveSource::draw(LocalPlan& plan, std::int32_t busiest, Rng& rng, Move& move) const {
  if (!draw_edits(plan, busiest, rng, move)) return false;
  if (move.edits[0].piece == kNoPiece) return true;
  if (!fits(plan, move)) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    if (move.changes[k].device == kNoDevice) continue;
    move.compute_ms[k] = plan.cost_with(move.changes[k]);
  }
  return true;
}

bool MoveSource::draw_edits(const LocalPlan& plan, std::int32_t busiest, Rng& rng,
                            Move& move) const {
  move = {};
  const auto devices = static_cast<std::uint64_t>(plan.devices());
  const bool at_busiest = rng.uniform() < mix_.busiest;
  const std::int32_t a = at_busiest ? busiest : static_cast<std::int32_t>(rng.below(devices));
  auto b = static_cast<std::int32_t>(rng.below(devices - 1));
  if (b >= a) ++b;
  move.changes[0].device = a;
  move.changes[1].device = b;
  double kind = rng.uniform();
  if (!devices_alike_ && (kind -= mix_.exchange) < 0) {
    move.edits[0].devices = {a, b};
    move.edit_count = 1;
    move.compute_ms = {plan.compute_ms()[static_cast<std::size_t>(b)],
                       plan.compute_ms()[static_cast<std::size_t>(a)]};
    move.dims = {plan.dim_sums()[static_cast<std::size_t>(b)],
                 plan.dim_sums()[static_cast<std::size_t>(a)]};
    return true;
  }
  if ((kind -= mix_.merge) < 0) return draw_merge(plan, rng, move);
  if (plan.pieces_on(a).empty()) return false;
  const std::int32_t piece = any_of(plan.pieces_on(a), rng);
  if ((kind -= mix_.split) < 0) return draw_split(plan, piece, rng, move);
  if ((kind -= mix_.swap) < 0) return draw_swap(plan, piece, rng, move);
  return draw_shift(plan, piece, move);
}

/// Fills in the dims, and tells whether both devices have the memory.
bool MoveSource::fits(const LocalPlan& plan, Move& move) const {
  for (std::size_t k = 0; k < 2; ++k) {
    const DeviceChange& change = move.changes[k];
    if (change.device == kNoDevice) continue;
    std::int64_t dims = plan.dim_sums()[static_cast<std::size_t>(change.device)];
    std::int64_t bytes = plan.bytes()[static_cast<std::size_t>(change.device)];
    for (const std::int32_t piece : change.without) {
      if (piece == kNoPiece) continue;
      dims -= plan.entry_of(piece).dim;
      bytes -= plan.entry_of(piece).bytes;
    }
    for (const EntryId entry : change.with) {
      if (entry == kNoEntry) continue;
      dims += plan.catalog().entry(entry).dim;
      bytes += plan.catalog().entry(entry).bytes;
    }
    if (bytes > memory_bytes_) return false;
    move.dims[k] = dims;
  }
  return true;
}

}  // namespace neuroshard::search
