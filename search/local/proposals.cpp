#include "search/local/proposals.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

namespace neuroshard::search {
namespace {

constexpr std::size_t kMostDevices = 32;  // looked at as partners, the least loaded

}  // namespace

Proposals::Proposals(const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
                     const LocalPlan& plan, const CostEstimate& estimate)
    : evaluator_(evaluator),
      catalog_(catalog),
      plan_(plan),
      estimate_(estimate),
      sorted_(static_cast<std::size_t>(plan.devices())) {}

void Proposals::start(const CommResponse& response) {
  unit_ = {response.waiting, 1, response.widest_per_dim};
  for (Sorted& list : sorted_) list.pieces.clear();
  weigh_entries(response);
}

/// A shard adds the same share of its own cost to every device: a guess, good enough to choose what
/// the cost models are asked about.
void Proposals::weigh_entries(const CommResponse& response) {
  double alone = 0;
  for (std::int32_t device = 0; device < plan_.devices(); ++device) {
    for (const std::int32_t piece : plan_.pieces_on(device)) {
      alone += evaluator_.shape_cost(plan_.entry_of(piece).shape);
    }
  }
  const std::span<const float> compute = plan_.compute_ms();
  const double share = std::accumulate(compute.begin(), compute.end(), 0.0) / alone;
  weights_.resize(catalog_.size());
  for (std::size_t id = 0; id < weights_.size(); ++id) {
    const CatalogEntry& entry = catalog_.entry(static_cast<EntryId>(id));
    const double ready =
        (std::isfinite(share) ? share : 1) * finite_ms(evaluator_.shape_cost(entry.shape)) +
        response.ready_per_dim * entry.dim;
    const double own = (1 - response.waiting) * ready + response.own_per_dim * entry.dim;
    weights_[id] = {ready, own, static_cast<double>(entry.dim)};
  }
}

Proposals::Load Proposals::load(std::int32_t device) const {
  return {estimate_.ready_ms(device), estimate_.own_ms(device),
          static_cast<double>(plan_.dim_sums()[static_cast<std::size_t>(device)])};
}

const Proposals::Sorted& Proposals::sorted(std::int32_t device) {
  Sorted& list = sorted_[static_cast<std::size_t>(device)];
  if (!list.pieces.empty()) return list;
  const std::span<const std::int32_t> pieces = plan_.pieces_on(device);
  std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(list.pieces),
               [&](std::int32_t piece) { return plan_.entry_of(piece).moves(); });
  list.class_ends.clear();
  const bool by_dim = unit_[kDims] > 0;
  std::sort(list.pieces.begin(), list.pieces.end(), [&](std::int32_t a, std::int32_t b) {
    const Load& one = weight(a);
    const Load& other = weight(b);
    if (by_dim && one[kDims] != other[kDims]) return one[kDims] < other[kDims];
    return one[kReady] != other[kReady] ? one[kReady] < other[kReady] : a < b;
  });
  for (std::size_t k = 1; by_dim && k < list.pieces.size(); ++k) {
    if (weight(list.pieces[k - 1])[kDims] != weight(list.pieces[k])[kDims]) {
      list.class_ends.push_back(k);
    }
  }
  if (!list.pieces.empty()) list.class_ends.push_back(list.pieces.size());
  return list;
}

void Proposals::touch(const Move& move) {
  for (const DeviceChange& change : move.changes) {
    if (change.device != kNoDevice) sorted_[static_cast<std::size_t>(change.device)].pieces.clear();
  }
}

/// The partners that are looked at: less loaded ones, the least loaded of many.
void Proposals::choose_devices(Target target, std::int32_t from) {
  devices_.clear();
  for (std::int32_t device = 0; device < plan_.devices(); ++device) {
    if (load(device)[target] < load(from)[target]) devices_.push_back(device);
  }
  if (devices_.size() <= kMostDevices) return;
  std::nth_element(devices_.begin(), devices_.begin() + kMostDevices, devices_.end(),
                   [&](std::int32_t a, std::int32_t b) {
                     const double one = load(a)[target];
                     const double other = load(b)[target];
                     return one != other ? one < other : a < b;
                   });
  devices_.resize(kMostDevices);
}

/// Takes the proposal if it lowers the target; `from` loses, proposal.device gains.
void Proposals::add(Target target, std::int32_t from, const Load& less, const Load& more,
                    Proposal proposal) {
  const Load here = load(from);
  const Load there = load(proposal.device);
  for (std::size_t k = 0; k < kTargets; ++k) {
    double most = std::max(here[k] - less[k], there[k] + more[k]);
    if (k != target) {
      most = std::max(most, most_[k]);
    } else if (most >= here[k]) {
      return;
    }
    // Work that the move makes is paid for by all devices.
    const double extra = k == kDims ? 0 : std::max(0.0, more[k] - less[k]);
    proposal.score += unit_[k] * (most + extra / static_cast<double>(plan_.devices()));
  }
  proposals_.push_back(proposal);
}

std::span<const Proposals::Proposal> Proposals::best(Target target, std::int32_t from,
                                                     std::size_t count) {
  proposals_.clear();
  most_ = {estimate_.ready_ms(estimate_.last_ready()), estimate_.own_ms(estimate_.largest_own()),
           load(estimate_.widest())[kDims]};
  choose_devices(target, from);
  EntryId last = kNoEntry;
  for (const std::int32_t piece : sorted(from).pieces) {
    // Pieces of one table and width are all alike.
    const EntryId entry = plan_.placed(piece).entry;
    if (entry == last) continue;
    last = entry;
    for (const std::int32_t to : devices_) {
      if (!catalog_.entry(entry).goes_on(to)) continue;
      Proposal shift;
      shift.piece = piece;
      shift.device = to;
      add(target, from, weight(piece), weight(piece), shift);
      propose_swaps(target, from, piece, to);
      propose_splits(target, from, piece, to);
    }
    propose_merges(target, from, piece);
  }
  if (proposals_.size() > count) {
    std::nth_element(proposals_.begin(), proposals_.begin() + static_cast<std::ptrdiff_t>(count),
                     proposals_.end(),
                     [](const Proposal& a, const Proposal& b) { return a.score < b.score; });
    proposals_.resize(count);
  }
  return proposals_;
}

/// Against the pieces of `to`, two of each class, that come nearest to levelling the devices, or to
/// changing nothing but dims.
void Proposals::propose_swaps(Target target, std::int32_t from, std::int32_t piece,
                              std::int32_t to) {
  const Load& own = weight(piece);
  const Target order = target == kDims ? kReady : target;
  const double gap = target == kDims ? 0 : load(from)[order] - load(to)[order];
  const double wanted = own[order] - gap / 2;
  const Sorted& others = sorted(to);
  std::size_t begin = 0;
  for (const std::size_t end : others.class_ends) {
    std::size_t near = begin;
    for (std::size_t count = end - begin; count > 0;) {  // the first not below what is wanted
      const std::size_t half = count / 2;
      if (weight(others.pieces[near + half])[order] < wanted) {
        near += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    for (std::size_t k = near > begin ? near - 1 : near; k < std::min(near + 1, end); ++k) {
      if (!plan_.entry_of(others.pieces[k]).goes_on(from)) continue;
      const Load& theirs = weight(others.pieces[k]);
      Proposal swap;
      swap.kind = Kind::kSwap;
      swap.piece = piece;
      swap.other = others.pieces[k];
      swap.device = to;
      const Load moved{own[kReady] - theirs[kReady], own[kOwn] - theirs[kOwn],
                       own[kDims] - theirs[kDims]};
      add(target, from, moved, moved, swap);
    }
    begin = end;
  }
}

/// By columns, or by rows where those are all that is left.
void Proposals::propose_splits(Target target, std::int32_t from, std::int32_t piece,
                               std::int32_t to) {
  const CatalogEntry& entry = plan_.entry_of(piece);
  const bool columns = entry.first != kNoEntry;
  const EntryId first = columns ? entry.first : entry.upper;
  const EntryId rest = columns ? entry.rest : entry.lower;
  if (first == kNoEntry) return;
  const Load& own = weight(piece);
  Proposal split;
  split.kind = Kind::kSplit;
  split.piece = piece;
  split.device = to;
  for (const auto& [stays, leaves] : {std::pair(first, rest), std::pair(rest, first)}) {
    const Load& kept = weights_[static_cast<std::size_t>(stays)];
    split.stays = stays;
    split.leaves = leaves;
    add(target, from,
        {own[kReady] - kept[kReady], own[kOwn] - kept[kOwn], own[kDims] - kept[kDims]},
        weights_[static_cast<std::size_t>(leaves)], split);
    if (first == rest) return;
  }
}

/// To another piece of its table, on whatever device.
void Proposals::propose_merges(Target target, std::int32_t from, std::int32_t piece) {
  const CatalogEntry& entry = plan_.entry_of(piece);
  for (const std::int32_t other : plan_.pieces_of(entry.table)) {
    Proposal merge;
    merge.device = plan_.placed(other).device;
    if (merge.device == from) continue;
    merge.merged = catalog_.joined(plan_.placed(piece).entry, plan_.placed(other).entry);
    if (merge.merged == kNoEntry) continue;
    merge.kind = Kind::kMerge;
    merge.piece = piece;
    merge.other = other;
    const Load& merged = weights_[static_cast<std::size_t>(merge.merged)];
    const Load& theirs = weight(other);
    add(target, from, weight(piece),
        {merged[kReady] - theirs[kReady], merged[kOwn] - theirs[kOwn],
         merged[kDims] - theirs[kDims]},
        merge);
  }
}

Move Proposals::move_of(const Proposal& proposal) const {
  switch (proposal.kind) {
    case Kind::kShift:
      return shift_of(plan_, proposal.piece, proposal.device);
    case Kind::kSwap:
      return swap_of(plan_, proposal.piece, proposal.other, kNoPiece);
    case Kind::kSplit:
      return split_of(plan_, proposal.piece, proposal.stays, proposal.leaves, proposal.device,
                      kNoPiece);
    case Kind::kMerge:
      break;
  }
  return merge_of(plan_, proposal.other, proposal.piece, proposal.merged, kNoPiece);
}

}  // namespace neuroshard::search
