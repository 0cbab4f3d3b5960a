#include "search/local/pair_deal.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "search/local/column_cuts.h"

namespace neuroshard::search {
namespace {

constexpr double kAtBusiest = 0.5;
constexpr std::size_t kMostPieces = 256;  // of both devices, cut: a move must not take too long

/// Columns that a table is cut to at most.
constexpr std::array kMostColumns{std::numeric_limits<std::int32_t>::max(), kColumnsOfSixteenLanes,
                                  kColumnsOfEightLanes};

/// Whether a piece stays where it is: it does not move, or another of its table may not join it.
bool stays(const LocalPlan& plan, std::int32_t piece, std::int32_t other_device) {
  const CatalogEntry& entry = plan.entry_of(piece);
  return !entry.moves() || (entry.apart && plan.has_part(entry.table, other_device));
}

}  // namespace

/// The pieces that move, those of more than `most_columns` first, the costliest of these before the
/// others; then the widest. False where not all may be on either device, all are as wide, or there
/// are too many.
bool PairDealer::collect(const LocalPlan& plan, std::int32_t most_columns) {
  dealt_.clear();
  parts_.clear();
  std::int32_t widest = 0;
  std::int32_t narrowest = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t device : {wide_, narrow_}) {
    for (const std::int32_t piece : plan.pieces_on(device)) {
      const CatalogEntry& entry = plan.entry_of(piece);
      if (stays(plan, piece, device == wide_ ? narrow_ : wide_)) continue;
      if (!entry.goes_on(wide_) || !entry.goes_on(narrow_)) return false;
      Dealt dealt{plan.placed(piece).entry,
                  piece,
                  entry.dim > most_columns,
                  evaluator_.shape_cost(entry.shape),
                  entry.dim,
                  parts_.size(),
                  0};
      cut_columns(plan.catalog(), dealt.entry, most_columns, kMostPieces, parts_);
      dealt.parts_end = parts_.size();
      if (parts_.size() > kMostPieces) return false;
      widest = std::max(widest, entry.dim);
      narrowest = std::min(narrowest, entry.dim);
      dealt_.push_back(dealt);
    }
  }
  std::stable_sort(dealt_.begin(), dealt_.end(), [](const Dealt& a, const Dealt& b) {
    if (a.wide != b.wide) return a.wide;
    return a.wide ? a.alone_ms > b.alone_ms : a.dim > b.dim;
  });
  return dealt_.size() >= 2 && widest > narrowest;
}

/// Of the pieces that stay on it.
PairDealer::Load PairDealer::begin(const LocalPlan& plan, std::int32_t device) {
  evaluator_.clear(state_.data());
  Load load{evaluator_.empty_cost(), 0, plan.dim_sums()[static_cast<std::size_t>(device)]};
  for (const std::int32_t piece : plan.pieces_on(device)) {
    load.dims -= plan.entry_of(piece).exchanged.dims;  // what is left is its host's
    if (stays(plan, piece, device == wide_ ? narrow_ : wide_)) add(plan.entry_of(piece), load);
  }
  return load;
}

void PairDealer::add(const CatalogEntry& entry, Load& load) {
  load.ms = evaluator_.place(entry.shape, state_.data());
  load.bytes += entry.bytes;
  load.dims += entry.exchanged.dims;
}

void PairDealer::cost_cuts(const LocalPlan& plan) {
  const std::size_t count = dealt_.size();
  wide_loads_.resize(count + 1);
  narrow_loads_.resize(count + 1);
  narrow_loads_[count] = begin(plan, narrow_);
  for (std::size_t k = count; k-- > 0;) {
    narrow_loads_[k] = narrow_loads_[k + 1];
    for (const EntryId part : parts_of(dealt_[k])) {
      add(plan.catalog().entry(part), narrow_loads_[k]);
    }
  }
  wide_loads_[0] = begin(plan, wide_);
  for (std::size_t k = 0; k < count; ++k) {
    wide_loads_[k + 1] = wide_loads_[k];
    for (const EntryId part : pieces_on_wide(dealt_[k])) {
      add(plan.catalog().entry(part), wide_loads_[k + 1]);
    }
  }
}

/// How many pieces the one gets, so that the slower of the two is fastest; none: no way fits.
std::size_t PairDealer::best_cut() const {
  std::size_t best = 0;
  float least = 0;
  for (std::size_t k = 1; k < dealt_.size(); ++k) {
    if (std::max(wide_loads_[k].bytes, narrow_loads_[k].bytes) > memory_bytes_) continue;
    const float slower = std::max(wide_loads_[k].ms, narrow_loads_[k].ms);
    if (best != 0 && slower >= least) continue;
    best = k;
    least = slower;
  }
  return best;
}

bool PairDealer::changes(const LocalPlan& plan) const {
  for (std::size_t k = 0; k < dealt_.size(); ++k) {
    if (plan.placed(dealt_[k].piece).device != (k < cut_ ? wide_ : narrow_)) return true;
    if ((k >= cut_ || cuts_all_) && parts_of(dealt_[k]).size() > 1) return true;
  }
  return false;
}

bool PairDealer::draw(const LocalPlan& plan, std::int32_t busiest, Rng& rng, Move& move) {
  const auto [a, b] = draw_pair(plan.devices(), busiest, kAtBusiest, rng);
  std::tie(wide_, narrow_) = std::minmax(a, b);
  if (rng.below(2) == 1) std::swap(wide_, narrow_);
  cuts_all_ = rng.below(2) == 0;
  if (!collect(plan, kMostColumns[rng.below(kMostColumns.size())])) return false;
  cost_cuts(plan);
  cut_ = best_cut();
  if (cut_ == 0 || !changes(plan)) return false;
  move.edit_count = 0;
  move.changes[0].device = wide_;
  move.changes[1].device = narrow_;
  move.compute_ms = {wide_loads_[cut_].ms, narrow_loads_[cut_].ms};
  move.dims = {wide_loads_[cut_].dims, narrow_loads_[cut_].dims};
  return true;
}

void PairDealer::make(LocalPlan& plan, std::vector<Edit>& undo) const {
  for (std::size_t k = 0; k < dealt_.size(); ++k) {
    const std::int32_t piece = dealt_[k].piece;
    const bool wide = k < cut_;
    const std::span<const EntryId> parts = wide ? pieces_on_wide(dealt_[k]) : parts_of(dealt_[k]);
    const std::int32_t device = wide ? wide_ : narrow_;
    if (plan.placed(piece) != Placed{parts.front(), device}) {
      undo.push_back(plan.apply({piece, {parts.front(), device}, {}}));
    }
    for (const EntryId part : parts.subspan(1)) {
      undo.push_back(plan.apply({plan.next_piece(), {part, device}, {}}));
    }
  }
}

}  // namespace neuroshard::search
