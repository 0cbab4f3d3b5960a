#include "search/local/trade.h"

#include <algorithm>
#include <span>

namespace neuroshard::search {
namespace {

/// Columns of one table that go from a device to another.
struct Transfer {
  std::int32_t from = kNoPiece;  ///< the piece that has them now
  std::int32_t onto = kNoPiece;  ///< the one that gets them; none: a new one
  EntryId keeps = kNoEntry;      ///< what is left of the first; none: nothing
  EntryId gets = kNoEntry;       ///< what the second is then
  std::int64_t leaving_bytes = 0;
  std::int64_t coming_bytes = 0;
};

/// Whether a piece has all rows of a table that may be in any widths.
bool is_tradable(const LocalPlan& plan, std::int32_t piece) {
  const CatalogEntry& entry = plan.entry_of(piece);
  return plan.is_columns(piece) && !entry.apart && plan.catalog().any_widths(entry.table);
}

/// Parts that a piece may give: multiples of 4 columns, and all there are.
std::int64_t parts_of(const CatalogEntry& entry) {
  return (entry.dim + kLeastColumns - 1) / kLeastColumns;
}

/// The columns of the table that the device has in any width, or none.
std::int32_t columns_on(const LocalPlan& plan, std::int32_t table, std::int32_t device) {
  const std::span<const std::int32_t> pieces = plan.pieces_of(table);
  const auto found = std::find_if(pieces.begin(), pieces.end(), [&](std::int32_t piece) {
    return plan.placed(piece).device == device && is_tradable(plan, piece);
  });
  return found == pieces.end() ? kNoPiece : *found;
}

/// So many parts of the piece go to the device; false where one of the two were too narrow.
bool set_transfer(const LocalPlan& plan, std::int32_t piece, std::int64_t parts,
                  std::int32_t device, Transfer& transfer) {
  const ShapeCatalog& catalog = plan.catalog();
  const CatalogEntry& now = plan.entry_of(piece);
  const bool all = parts == parts_of(now);
  const std::int32_t columns = all ? now.dim : static_cast<std::int32_t>(parts) * kLeastColumns;
  transfer.from = piece;
  transfer.onto = columns_on(plan, now.table, device);
  const bool joins = transfer.onto != kNoPiece;
  const std::int32_t least = catalog.least_columns(now.table);
  const std::int32_t coming = columns + (joins ? plan.entry_of(transfer.onto).dim : 0);
  if ((!all && now.dim - columns < least) || coming < least) return false;
  transfer.keeps = all ? kNoEntry : catalog.find(now.table, now.rows, now.dim - columns);
  transfer.gets = catalog.find(now.table, now.rows, coming);
  if ((!all && transfer.keeps == kNoEntry) || transfer.gets == kNoEntry) return false;
  const CatalogEntry& gets = catalog.entry(transfer.gets);
  if (gets.only_parts) return false;
  transfer.leaving_bytes = now.bytes - (all ? 0 : catalog.entry(transfer.keeps).bytes);
  transfer.coming_bytes = gets.bytes - (joins ? plan.entry_of(transfer.onto).bytes : 0);
  return true;
}

void add(const LocalPlan& plan, const Transfer& transfer, std::int32_t device, Move& move) {
  const auto next = [&]() -> Edit& {
    return move.edits[static_cast<std::size_t>(move.edit_count++)];
  };
  const std::int32_t here = plan.placed(transfer.from).device;
  const bool all = transfer.keeps == kNoEntry;
  if (all && transfer.onto == kNoPiece) {
    next() = {transfer.from, {transfer.gets, device}, {}};
    return;
  }
  next() = {transfer.from, {transfer.keeps, all ? kNoDevice : here}, {}};
  next() = {transfer.onto == kNoPiece ? kNewPiece : transfer.onto, {transfer.gets, device}, {}};
}

}  // namespace

bool draw_trade(const LocalPlan& plan, std::int32_t piece, std::int32_t device,
                std::int64_t memory_bytes, Rng& rng, Move& move) {
  const std::span<const std::int32_t> pieces = plan.pieces_on(device);
  if (pieces.empty()) return false;
  const std::int32_t other = pieces[rng.below(pieces.size())];
  const CatalogEntry& given = plan.entry_of(piece);
  const CatalogEntry& taken = plan.entry_of(other);
  if (given.table == taken.table) return false;
  if (!is_tradable(plan, piece) || !is_tradable(plan, other)) return false;

  const std::int32_t here = plan.placed(piece).device;
  Transfer goes;
  if (!set_transfer(plan, piece, rng.between(1, parts_of(given)), device, goes)) return false;
  const std::int64_t used_here = plan.bytes()[static_cast<std::size_t>(here)];
  const std::int64_t used_there = plan.bytes()[static_cast<std::size_t>(device)];
  const std::int64_t too_much = used_there + goes.coming_bytes - memory_bytes;
  const std::int64_t room = memory_bytes - used_here + goes.leaving_bytes;
  const std::int64_t part_bytes =
      std::max<std::int64_t>(1, taken.bytes * kLeastColumns / taken.dim);
  const std::int64_t least = std::max<std::int64_t>(1, (too_much + part_bytes - 1) / part_bytes);
  const std::int64_t most = std::min(parts_of(taken), room / part_bytes);
  if (least > most) return false;
  Transfer comes;
  if (!set_transfer(plan, other, rng.between(least, most), here, comes)) return false;

  move.edit_count = 0;
  add(plan, goes, device, move);
  add(plan, comes, here, move);
  move.changes[0] = {here, {piece, comes.onto}, {goes.keeps, comes.gets}};
  move.changes[1] = {device, {other, goes.onto}, {comes.keeps, goes.gets}};
  return true;
}

}  // namespace neuroshard::search
