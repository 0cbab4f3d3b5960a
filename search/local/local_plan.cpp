#include "search/local/local_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "search/host_sums.h"

namespace neuroshard::search {

LocalPlan::LocalPlan(const Problem& problem, const PlanEvaluator& evaluator,
                     const ShapeCatalog& catalog)
    : evaluator_(evaluator),
      catalog_(catalog),
      adds_up_(evaluator.additive()),
      host_devices_(evaluator.host_devices()),
      cleared_(evaluator.state_size()),
      zeros_(evaluator.state_size(), 0.0f) {
  evaluator.clear(cleared_.data());
  const auto devices = static_cast<std::size_t>(problem.cluster.devices);
  on_device_.resize(devices);
  of_table_.resize(static_cast<std::size_t>(catalog.tables()));
  split_rank_.resize(of_table_.size());
  sums_.resize(devices);
  compute_ms_.resize(devices);
  is_stale_.resize(devices);
  dim_sums_.resize(devices);
  if (evaluator.counts_work()) work_.resize(devices);
  bytes_.resize(devices);
}

void LocalPlan::assign(std::span<const Placed> pieces) {
  for (SumTree& sum : sums_) sum.reset(zeros_.size(), zeros_.data());
  for (std::vector<std::int32_t>& list : on_device_) list.clear();
  for (std::vector<std::int32_t>& list : of_table_) list.clear();
  std::fill(split_rank_.begin(), split_rank_.end(), -1);
  std::fill(dim_sums_.begin(), dim_sums_.end(), 0);
  std::fill(work_.begin(), work_.end(), DeviceWork{});
  collectives_ = {};
  std::fill(bytes_.begin(), bytes_.end(), 0);
  split_tables_.clear();
  free_.clear();
  pieces_.assign(pieces.size(), {});
  stale_.resize(on_device_.size());
  std::iota(stale_.begin(), stale_.end(), 0);
  std::fill(is_stale_.begin(), is_stale_.end(), 1);
  for (std::size_t k = pieces.size(); k > 0; --k) {
    if (pieces[k - 1].device == kNoDevice) free_.push_back(static_cast<std::int32_t>(k) - 1);
  }
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (pieces[k].device != kNoDevice) attach(static_cast<std::int32_t>(k), pieces[k]);
  }
}

Assignment LocalPlan::assignment() const {
  Assignment pieces;
  pieces.reserve(pieces_.size());
  for (const Piece& piece : pieces_) pieces.push_back({piece.entry, piece.device});
  return pieces;
}

void LocalPlan::refresh() const {
  for (const std::int32_t device : stale_) {
    const auto index = static_cast<std::size_t>(device);
    const std::array<const float*, 2> parts{cleared_.data(), sums_[index].sum()};
    compute_ms_[index] = evaluator_.cost_of_sum(parts);
    is_stale_[index] = 0;
  }
  stale_.clear();
}

void LocalPlan::has_changed(std::int32_t device) {
  char& is_stale = is_stale_[static_cast<std::size_t>(device)];
  if (is_stale == 0) stale_.push_back(device);
  is_stale = 1;
}

float LocalPlan::cost_with(const DeviceChange& change) const {
  std::array<const float*, SumTree::kMaxParts + 4> parts;
  SumTree& sums = sums_[static_cast<std::size_t>(change.device)];
  const auto slot_of = [this](std::int32_t piece) {
    return static_cast<std::size_t>(pieces_[static_cast<std::size_t>(piece)].slot);
  };
  std::size_t count = 0;
  parts[count++] = cleared_.data();
  if (change.without[0] == kNoPiece) {
    parts[count++] = sums.sum();
  } else {
    const std::size_t slot = slot_of(change.without[0]);
    const std::size_t other = change.without[1] == kNoPiece ? slot : slot_of(change.without[1]);
    count += static_cast<std::size_t>(sums.parts_without(slot, other, parts.data() + count));
  }
  for (const EntryId entry : change.with) {
    if (entry != kNoEntry) parts[count++] = addend(entry);
  }
  return evaluator_.cost_of_sum({parts.data(), count});
}

void LocalPlan::attach(std::int32_t piece, const Placed& to) {
  const CatalogEntry& entry = catalog_.entry(to.entry);
  const auto device = static_cast<std::size_t>(to.device);
  std::vector<std::int32_t>& neighbours = on_device_[device];
  std::vector<std::int32_t>& siblings = of_table_[static_cast<std::size_t>(entry.table)];
  pieces_[static_cast<std::size_t>(piece)] = {to.entry, to.device,
                                              static_cast<std::int32_t>(neighbours.size()),
                                              static_cast<std::int32_t>(siblings.size())};
  sums_[device].set(neighbours.size(), addend(to.entry));
  neighbours.push_back(piece);
  add_exchanged(entry, to.device);
  siblings.push_back(piece);
  note_split(entry.table);
  bytes_[device] += entry.bytes;
  has_changed(to.device);
}

/// The last of a list takes the place of the one that leaves.
void LocalPlan::detach(std::int32_t piece) {
  Piece& leaving = pieces_[static_cast<std::size_t>(piece)];
  const CatalogEntry& entry = catalog_.entry(leaving.entry);
  const auto device = static_cast<std::size_t>(leaving.device);
  std::vector<std::int32_t>& neighbours = on_device_[device];
  std::vector<std::int32_t>& siblings = of_table_[static_cast<std::size_t>(entry.table)];
  Piece& last = pieces_[static_cast<std::size_t>(neighbours.back())];
  const auto slot = static_cast<std::size_t>(leaving.slot);
  neighbours[slot] = neighbours.back();
  neighbours.pop_back();
  sums_[device].set(neighbours.size(), nullptr);
  if (last.slot != leaving.slot) sums_[device].set(slot, addend(last.entry));
  last.slot = leaving.slot;
  pieces_[static_cast<std::size_t>(siblings.back())].rank = leaving.rank;
  siblings[static_cast<std::size_t>(leaving.rank)] = siblings.back();
  siblings.pop_back();
  take_exchanged(entry, leaving.device);
  note_split(entry.table);
  bytes_[device] -= entry.bytes;
  has_changed(leaving.device);
  leaving.device = kNoDevice;
}

void LocalPlan::add_exchanged(const CatalogEntry& entry, std::int32_t device) {
  const auto index = static_cast<std::size_t>(device);
  dim_sums_[index] += entry.exchanged.dims;
  if (!work_.empty()) work_[index] += entry.exchanged.work;
  if (!adds_up_) collectives_ += entry.exchanged.collectives;
  if (alone_on_host(entry, device)) {
    add_host_dims(entry.exchanged.host_dims, device, host_devices_, dim_sums_, work_);
  }
}

void LocalPlan::take_exchanged(const CatalogEntry& entry, std::int32_t device) {
  const auto index = static_cast<std::size_t>(device);
  dim_sums_[index] -= entry.exchanged.dims;
  if (!work_.empty()) work_[index] -= entry.exchanged.work;
  if (!adds_up_) collectives_ -= entry.exchanged.collectives;
  if (alone_on_host(entry, device)) {
    add_host_dims(-entry.exchanged.host_dims, device, host_devices_, dim_sums_, work_);
  }
}

/// Whether it has sums that the device's host adds up, of no other piece. Those that do not move
/// count as of the same columns.
bool LocalPlan::alone_on_host(const CatalogEntry& entry, std::int32_t device) const {
  if (entry.exchanged.host_dims == 0) return false;
  const std::span<const std::int32_t> pieces = pieces_of(entry.table);
  return std::none_of(pieces.begin(), pieces.end(), [&](std::int32_t piece) {
    const Placed own = placed(piece);
    return own.device != kNoDevice && own.device / host_devices_ == device / host_devices_ &&
           catalog_.entry(own.entry).exchanged.host_dims > 0;
  });
}

void LocalPlan::note_split(std::int32_t table) {
  const auto index = static_cast<std::size_t>(table);
  const bool is_split = of_table_[index].size() > 1;
  std::int32_t& rank = split_rank_[index];
  if (is_split == (rank >= 0)) return;
  if (is_split) {
    rank = static_cast<std::int32_t>(split_tables_.size());
    split_tables_.push_back(table);
    return;
  }
  split_rank_[static_cast<std::size_t>(split_tables_.back())] = rank;
  split_tables_[static_cast<std::size_t>(rank)] = split_tables_.back();
  split_tables_.pop_back();
  rank = -1;
}

void LocalPlan::exchange(std::int32_t one, std::int32_t other) {
  const auto a = static_cast<std::size_t>(one);
  const auto b = static_cast<std::size_t>(other);
  refresh();
  lift(on_device_[a]);
  lift(on_device_[b]);
  std::swap(on_device_[a], on_device_[b]);
  std::swap(sums_[a], sums_[b]);
  std::swap(compute_ms_[a], compute_ms_[b]);
  std::swap(bytes_[a], bytes_[b]);
  bring(on_device_[a], one);
  bring(on_device_[b], other);
}

void LocalPlan::lift(std::span<const std::int32_t> pieces) {
  for (const std::int32_t piece : pieces) {
    Piece& own = pieces_[static_cast<std::size_t>(piece)];
    take_exchanged(catalog_.entry(own.entry), std::exchange(own.device, kNoDevice));
  }
}

void LocalPlan::bring(std::span<const std::int32_t> pieces, std::int32_t device) {
  for (const std::int32_t piece : pieces) {
    Piece& own = pieces_[static_cast<std::size_t>(piece)];
    add_exchanged(catalog_.entry(own.entry), device);
    own.device = device;
  }
}

Edit LocalPlan::apply(const Edit& edit) {
  if (edit.piece == kNoPiece) {
    exchange(edit.devices[0], edit.devices[1]);
    return edit;
  }
  const std::int32_t piece = edit.piece == kNewPiece ? next_piece() : edit.piece;
  const auto index = static_cast<std::size_t>(piece);
  if (index == pieces_.size()) {
    pieces_.emplace_back();
  } else if (pieces_[index].device == kNoDevice) {
    free_.pop_back();  // it is next_piece()
  }
  const Placed before{pieces_[index].entry, pieces_[index].device};
  if (before.device != kNoDevice) detach(piece);
  if (edit.to.device != kNoDevice) {
    attach(piece, edit.to);
  } else {
    free_.push_back(piece);
  }
  return {piece, before, {}};
}

void take_back(const Edit& undo, Assignment& assignment) {
  if (undo.piece != kNoPiece) {
    assignment[static_cast<std::size_t>(undo.piece)] = undo.to;
    return;
  }
  for (Placed& placed : assignment) {
    if (placed.device == undo.devices[0]) {
      placed.device = undo.devices[1];
    } else if (placed.device == undo.devices[1]) {
      placed.device = undo.devices[0];
    }
  }
}

}  // namespace neuroshard::search
