#include "search/local/moves.h"

#include <algorithm>
#include <utility>

#include "search/local/trade.h"

namespace neuroshard::search {
namespace {

// Of the swaps. (golden_costs_bench: none +0.06 % in the mean of ten settings, networks_64 +0.21;
// 0.8 the same.)
constexpr double kTwoForOne = 0.4;

template <typename T>
T any_of(std::span<const T> choices, Rng& rng) {
  return choices[rng.below(choices.size())];
}

bool one_in_two(Rng& rng) { return rng.below(2) == 0; }

/// Blocks stay where they are.
bool movable(const LocalPlan& plan, std::int32_t piece) { return plan.entry_of(piece).moves(); }

void add_edit(Move& move, std::int32_t piece, EntryId entry, std::int32_t device) {
  Edit& edit = move.edits[static_cast<std::size_t>(move.edit_count++)];
  edit.piece = piece;
  edit.to = {entry, device};
}

// Moves are filled in where they are: a walk draws millions a second, and a copy of fields that
// have just been written one by one waits for them.

void set_change(DeviceChange& change, std::int32_t device, std::array<std::int32_t, 2> without,
                std::array<EntryId, 2> with) {
  change.device = device;
  change.without[0] = without[0];
  change.without[1] = without[1];
  change.with[0] = with[0];
  change.with[1] = with[1];
}

void set_shift(const LocalPlan& plan, std::int32_t piece, std::int32_t device, Move& move) {
  const Placed now = plan.placed(piece);
  move.edit_count = 0;
  set_change(move.changes[0], now.device, {piece, kNoPiece}, {kNoEntry, kNoEntry});
  set_change(move.changes[1], device, {kNoPiece, kNoPiece}, {now.entry, kNoEntry});
  add_edit(move, piece, now.entry, device);
}

void set_swap(const LocalPlan& plan, std::int32_t piece, std::int32_t other, std::int32_t another,
              Move& move) {
  const Placed now = plan.placed(piece);
  const Placed then = plan.placed(other);
  const EntryId third = another == kNoPiece ? kNoEntry : plan.placed(another).entry;
  move.edit_count = 0;
  set_change(move.changes[0], now.device, {piece, kNoPiece}, {then.entry, third});
  set_change(move.changes[1], then.device, {other, another}, {now.entry, kNoEntry});
  add_edit(move, piece, now.entry, then.device);
  add_edit(move, other, then.entry, now.device);
  if (another != kNoPiece) add_edit(move, another, third, now.device);
}

void set_split(const LocalPlan& plan, std::int32_t piece, EntryId stays, EntryId leaves,
               std::int32_t device, std::int32_t other, Move& move) {
  const std::int32_t here = plan.placed(piece).device;
  const EntryId third = other == kNoPiece ? kNoEntry : plan.placed(other).entry;
  move.edit_count = 0;
  set_change(move.changes[0], here, {piece, kNoPiece}, {stays, third});
  set_change(move.changes[1], device, {other, kNoPiece}, {leaves, kNoEntry});
  add_edit(move, piece, stays, here);
  add_edit(move, plan.next_piece(), leaves, device);
  if (other != kNoPiece) add_edit(move, other, third, here);
}

void set_merge(const LocalPlan& plan, std::int32_t stays, std::int32_t goes, EntryId merged,
               std::int32_t other, Move& move) {
  const std::int32_t a = plan.placed(stays).device;
  const std::int32_t b = plan.placed(goes).device;
  const bool apart = a != b;
  const EntryId third = other == kNoPiece ? kNoEntry : plan.placed(other).entry;
  move.edit_count = 0;
  set_change(move.changes[0], a, {stays, apart ? other : goes}, {merged, kNoEntry});
  set_change(move.changes[1], apart ? b : kNoDevice, {goes, kNoPiece}, {third, kNoEntry});
  add_edit(move, goes, kNoEntry, kNoDevice);
  add_edit(move, stays, merged, a);
  if (other != kNoPiece) add_edit(move, other, third, b);
}

void set_resize(const LocalPlan& plan, std::int32_t piece, EntryId keeps, std::int32_t other,
                EntryId gets, Move& move) {
  const std::int32_t a = plan.placed(piece).device;
  const std::int32_t b = plan.placed(other).device;
  move.edit_count = 0;
  set_change(move.changes[0], a, {piece, kNoPiece}, {keeps, kNoEntry});
  set_change(move.changes[1], b, {other, kNoPiece}, {gets, kNoEntry});
  add_edit(move, piece, keeps, a);
  add_edit(move, other, gets, b);
}

/// A random piece of `device`; none when that is `piece` or may not move.
std::int32_t another_of(const LocalPlan& plan, std::int32_t device, std::int32_t piece, Rng& rng) {
  const std::int32_t other = any_of(plan.pieces_on(device), rng);
  return other == piece || !movable(plan, other) ? kNoPiece : other;
}

/// `piece` for a random one of `device`, sometimes for two of them.
bool draw_swap(const LocalPlan& plan, std::int32_t piece, std::int32_t device, Rng& rng,
               Move& move) {
  if (plan.pieces_on(device).empty()) return false;
  const std::int32_t other = any_of(plan.pieces_on(device), rng);
  if (plan.placed(piece).entry == plan.placed(other).entry || !movable(plan, other)) return false;
  const bool two = rng.uniform() < kTwoForOne;
  set_swap(plan, piece, other, two ? another_of(plan, device, other, rng) : kNoPiece, move);
  return true;
}

/// All widths are as likely.
std::pair<EntryId, EntryId> any_parts_of(const ShapeCatalog& catalog, const CatalogEntry& entry,
                                         Rng& rng) {
  const std::int32_t least = catalog.least_columns(entry.table);
  const std::int32_t choices = (entry.dim - 2 * least) / kLeastColumns + 1;
  if (choices < 1) return {kNoEntry, kNoEntry};
  const auto drawn = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(choices)));
  const std::int32_t dim = least + drawn * kLeastColumns;
  return {catalog.find(entry.table, entry.rows, dim),
          catalog.find(entry.table, entry.rows, entry.dim - dim)};
}

/// Of its columns or of its rows; one of the two at random where both can be split. Where columns
/// may be in any widths, `uneven` of them are not halved.
std::pair<EntryId, EntryId> parts_of(const ShapeCatalog& catalog, const CatalogEntry& entry,
                                     double uneven, Rng& rng) {
  const bool all_blocks = entry.apart && entry.dim < catalog.entry(catalog.whole(entry.table)).dim;
  if (all_blocks) return {kNoEntry, kNoEntry};  // of a table are as wide as this one
  const bool rows = entry.upper != kNoEntry && (entry.first == kNoEntry || one_in_two(rng));
  if (rows) return {entry.upper, entry.lower};
  const bool any = entry.first != kNoEntry && uneven > 0 && catalog.any_widths(entry.table) &&
                   rng.uniform() < uneven;
  return any ? any_parts_of(catalog, entry, rng) : std::pair(entry.first, entry.rest);
}

/// Some columns of `piece` to another of its table, or back.
bool draw_resize(const LocalPlan& plan, std::int32_t piece, Rng& rng, Move& move) {
  const CatalogEntry& entry = plan.entry_of(piece);
  const std::int32_t other = any_of(plan.pieces_of(entry.table), rng);
  if (plan.placed(other).device == plan.placed(piece).device) return false;
  if (!plan.is_columns(piece) || !plan.is_columns(other)) return false;
  const std::int32_t least = plan.catalog().least_columns(entry.table);
  const std::int32_t both = entry.dim + plan.entry_of(other).dim;
  // The one with the columns that are no multiple of 4 keeps them.
  const std::int32_t ragged = entry.dim % kLeastColumns;
  const std::int32_t choices = (both - 2 * least) / kLeastColumns + 1;
  if (choices < 2) return false;
  const auto drawn = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(choices)));
  const std::int32_t dim = least + drawn * kLeastColumns + ragged;
  if (dim == entry.dim || both - dim < least) return false;
  const EntryId keeps = plan.catalog().find(entry.table, entry.rows, dim);
  const EntryId gets = plan.catalog().find(entry.table, entry.rows, both - dim);
  if (keeps == kNoEntry || gets == kNoEntry) return false;
  set_resize(plan, piece, keeps, other, gets, move);
  return true;
}

/// One half of `piece` to `device`, half of the time against a random piece of that.
bool draw_split(const LocalPlan& plan, std::int32_t piece, std::int32_t device, double uneven,
                Rng& rng, Move& move) {
  auto [stays, leaves] = parts_of(plan.catalog(), plan.entry_of(piece), uneven, rng);
  if (stays == kNoEntry || leaves == kNoEntry) return false;
  if (plan.catalog().entry(stays).only_parts) return false;  // finer ones come all at once
  if (!one_in_two(rng)) std::swap(stays, leaves);
  const bool alone = plan.pieces_on(device).empty() || one_in_two(rng);
  set_split(plan, piece, stays, leaves, device,
            alone ? kNoPiece : another_of(plan, device, kNoPiece, rng), move);
  return true;
}

/// Half of the time a random piece makes room for the other half of the table, the reverse of a
/// split: where memory is full, nothing else joins what was split to fit.
bool draw_merge(const LocalPlan& plan, Rng& rng, Move& move) {
  if (plan.split_tables().empty()) return false;
  const std::int32_t table = any_of(plan.split_tables(), rng);
  const std::int32_t stays = any_of(plan.pieces_of(table), rng);
  const std::int32_t goes = any_of(plan.pieces_of(table), rng);
  if (stays == goes) return false;
  const EntryId merged = plan.catalog().joined(plan.placed(stays).entry, plan.placed(goes).entry);
  if (merged == kNoEntry) return false;
  const std::int32_t here = plan.placed(stays).device;
  const bool apart = here != plan.placed(goes).device;
  const bool makes_room = apart && one_in_two(rng);
  set_merge(plan, stays, goes, merged, makes_room ? another_of(plan, here, stays, rng) : kNoPiece,
            move);
  return true;
}

/// Whether all pieces of either device may be on the other. Blocks of a host stay on it.
bool may_change_places(const LocalPlan& plan, std::int32_t a, std::int32_t b) {
  const auto all_go = [&](std::int32_t from, std::int32_t to) {
    const std::span<const std::int32_t> pieces = plan.pieces_on(from);
    return std::all_of(pieces.begin(), pieces.end(), [&](std::int32_t piece) {
      const CatalogEntry& entry = plan.entry_of(piece);
      return entry.spread != Spread::kHost && entry.goes_on(to);
    });
  };
  return all_go(a, b) && all_go(b, a);
}

/// Whether a piece that comes minds another of its table, which stays on the device or comes, too:
/// any where they have to be apart, or one of other columns.
bool meets(const LocalPlan& plan, const CatalogEntry& comes, const DeviceChange& change) {
  if (!comes.apart && !comes.one_width) return false;
  const std::span<const std::int32_t> pieces = plan.pieces_of(comes.table);
  const bool stays = std::any_of(pieces.begin(), pieces.end(), [&](std::int32_t piece) {
    return plan.placed(piece).device == change.device && piece != change.without[0] &&
           piece != change.without[1] && (comes.apart || plan.entry_of(piece).dim != comes.dim);
  });
  return stays || std::any_of(change.with.begin(), change.with.end(), [&](EntryId id) {
           if (id == kNoEntry) return false;
           const CatalogEntry& other = plan.catalog().entry(id);
           return other.table == comes.table && other.dim != comes.dim;
         });
}

/// Fills in the dims, and tells whether both devices have the memory and may have the pieces.
bool fits(const LocalPlan& plan, std::int64_t memory_bytes, Move& move) {
  for (std::size_t k = 0; k < 2; ++k) {
    const DeviceChange& change = move.changes[k];
    if (change.device == kNoDevice) continue;
    std::int64_t dims = plan.dim_sums()[static_cast<std::size_t>(change.device)];
    std::int64_t bytes = plan.bytes()[static_cast<std::size_t>(change.device)];
    for (const std::int32_t piece : change.without) {
      if (piece == kNoPiece) continue;
      dims -= plan.entry_of(piece).exchanged.dims;
      bytes -= plan.entry_of(piece).bytes;
    }
    for (const EntryId entry : change.with) {
      if (entry == kNoEntry) continue;
      const CatalogEntry& comes = plan.catalog().entry(entry);
      if (!comes.goes_on(change.device)) return false;
      if (meets(plan, comes, change)) return false;
      dims += comes.exchanged.dims;
      bytes += comes.bytes;
    }
    if (bytes > memory_bytes) return false;
    move.dims[k] = dims;
  }
  return true;
}

}  // namespace

Move shift_of(const LocalPlan& plan, std::int32_t piece, std::int32_t device) {
  Move move;
  set_shift(plan, piece, device, move);
  return move;
}

Move swap_of(const LocalPlan& plan, std::int32_t piece, std::int32_t other, std::int32_t another) {
  Move move;
  set_swap(plan, piece, other, another, move);
  return move;
}

Move split_of(const LocalPlan& plan, std::int32_t piece, EntryId stays, EntryId leaves,
              std::int32_t device, std::int32_t other) {
  Move move;
  set_split(plan, piece, stays, leaves, device, other, move);
  return move;
}

Move merge_of(const LocalPlan& plan, std::int32_t stays, std::int32_t goes, EntryId merged,
              std::int32_t other) {
  Move move;
  set_merge(plan, stays, goes, merged, other, move);
  return move;
}

Move resize_of(const LocalPlan& plan, std::int32_t piece, EntryId keeps, std::int32_t other,
               EntryId gets) {
  Move move;
  set_resize(plan, piece, keeps, other, gets, move);
  return move;
}

Edits make(LocalPlan& plan, const Move& move) {
  Edits undo;
  for (int edit = 0; edit < move.edit_count; ++edit) {
    const auto index = static_cast<std::size_t>(edit);
    undo[index] = plan.apply(move.edits[index]);
  }
  return undo;
}

void take_back(LocalPlan& plan, const Move& move, const Edits& undo) {
  for (int edit = move.edit_count; edit > 0; --edit) {
    plan.apply(undo[static_cast<std::size_t>(edit) - 1]);
  }
}

bool price(LocalPlan& plan, std::int64_t memory_bytes, Move& move) {
  if (!fits(plan, memory_bytes, move)) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    if (move.changes[k].device == kNoDevice) continue;
    move.compute_ms[k] = plan.cost_with(move.changes[k]);
  }
  return true;
}

bool MoveSource::draw(LocalPlan& plan, std::int32_t busiest, Rng& rng, Move& move) const {
  if (!draw_edits(plan, busiest, rng, move)) return false;
  if (move.edits[0].piece == kNoPiece) return true;
  return price(plan, memory_bytes_, move);
}

bool MoveSource::draw_edits(const LocalPlan& plan, std::int32_t busiest, Rng& rng,
                            Move& move) const {
  const auto [a, b] = draw_pair(plan.devices(), busiest, mix_.busiest, rng);
  double kind = rng.uniform();
  if (!devices_alike_ && (kind -= mix_.exchange) < 0) {
    if (!may_change_places(plan, a, b)) return false;
    set_change(move.changes[0], a, {kNoPiece, kNoPiece}, {kNoEntry, kNoEntry});
    set_change(move.changes[1], b, {kNoPiece, kNoPiece}, {kNoEntry, kNoEntry});
    move.edit_count = 1;
    move.edits[0].piece = kNoPiece;
    move.edits[0].devices = {a, b};
    move.compute_ms = {plan.compute_ms()[static_cast<std::size_t>(b)],
                       plan.compute_ms()[static_cast<std::size_t>(a)]};
    move.dims = {plan.dim_sums()[static_cast<std::size_t>(b)],
                 plan.dim_sums()[static_cast<std::size_t>(a)]};
    return true;
  }
  if ((kind -= mix_.merge) < 0) return draw_merge(plan, rng, move);
  if (plan.pieces_on(a).empty()) return false;
  const std::int32_t piece = any_of(plan.pieces_on(a), rng);
  if (!movable(plan, piece)) return false;
  if (plan.catalog().any_widths(plan.entry_of(piece).table)) {
    if ((kind -= mix_.resize) < 0) return draw_resize(plan, piece, rng, move);
    if ((kind -= mix_.trade) < 0) return draw_trade(plan, piece, b, memory_bytes_, rng, move);
  }
  if ((kind -= mix_.split) < 0) return draw_split(plan, piece, b, mix_.uneven, rng, move);
  if ((kind -= mix_.swap) < 0) return draw_swap(plan, piece, b, rng, move);
  set_shift(plan, piece, b, move);
  return true;
}

}  // namespace neuroshard::search
