// How a walk of relayouts deals out what was beside a table.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/local/random_layout.h"
#include "search/local/relayout_walk.h"

namespace neuroshard::search {
namespace {

constexpr std::int32_t kAllAsked = 32;  // devices, for a piece that is dealt out: of more, ..
constexpr std::int32_t kAsked = 16;     // .. so many drawn ones

}  // namespace

/// The pieces beside those of `table` that may move.
void RelayoutWalk::deal_out_others(std::int32_t table, Rng& rng) {
  dealt_.clear();
  for (const std::int32_t device : devices_of(table, rng)) {
    for (std::size_t slot = plan_.pieces_on(device).size(); slot-- > 0;) {
      const std::int32_t piece = plan_.pieces_on(device)[slot];
      const CatalogEntry& entry = plan_.entry_of(piece);
      if (!entry.moves() || entry.table == table) continue;
      dealt_.push_back(plan_.placed(piece).entry);
      apply({piece, {kNoEntry, kNoDevice}, {}});
      slot = std::min(slot, plan_.pieces_on(device).size());  // others have taken its slot
    }
  }
  std::stable_sort(dealt_.begin(), dealt_.end(),
                   [this](EntryId a, EntryId b) { return weight_of(a) > weight_of(b); });
  for (const EntryId piece : dealt_) {
    const std::int32_t device = least_loaded_with(piece, rng);
    if (device == kNoDevice) {
      complete_ = false;
      return;
    }
    apply({plan_.next_piece(), {piece, device}, {}});
  }
}

double RelayoutWalk::weight_of(EntryId piece) const {
  const CatalogEntry& entry = plan_.catalog().entry(piece);
  const double per_dim = response_.ready_per_dim + response_.own_per_dim + response_.widest_per_dim;
  return evaluator_.shape_cost(entry.shape) + per_dim * static_cast<double>(entry.exchanged.dims);
}

/// Any where it may be, if none of those asked has the memory.
std::int32_t RelayoutWalk::least_loaded_with(EntryId piece, Rng& rng) const {
  const CatalogEntry& entry = plan_.catalog().entry(piece);
  const std::int64_t widest = *std::max_element(plan_.dim_sums().begin(), plan_.dim_sums().end());
  const double per_dim = response_.ready_per_dim + response_.own_per_dim;
  const std::int32_t devices = plan_.devices();
  const bool all = devices <= kAllAsked;
  std::int32_t best = kNoDevice;
  double least = 0;
  for (std::int32_t k = 0; k < (all ? devices : kAsked); ++k) {
    const std::int32_t device =
        all ? k : static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(devices)));
    const auto index = static_cast<std::size_t>(device);
    if (!entry.goes_on(device) || plan_.bytes()[index] > memory_bytes_ - entry.bytes) continue;
    if (entry.apart && plan_.has_part(entry.table, device)) continue;
    if (plan_.meets_other_width(piece, device)) continue;
    const std::int64_t dims = plan_.dim_sums()[index] + entry.exchanged.dims;
    const double load =
        plan_.cost_with({device, {kNoPiece, kNoPiece}, {piece, kNoEntry}}) +
        per_dim * static_cast<double>(dims) +
        response_.widest_per_dim * static_cast<double>(std::max<std::int64_t>(0, dims - widest));
    if (best != kNoDevice && load >= least) continue;
    best = device;
    least = load;
  }
  if (best != kNoDevice) return best;
  return place_apart(plan_.catalog(), piece, random_place(plan_.catalog(), piece, devices, rng),
                     devices, devices_with(entry.table));
}

}  // namespace neuroshard::search
