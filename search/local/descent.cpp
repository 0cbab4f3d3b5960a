#include "search/local/descent.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

namespace neuroshard::search {
namespace {

constexpr std::size_t kPriced = 24;       // proposals put to the cost models, a step
constexpr std::size_t kTried = 3;         // of them put to all networks
constexpr std::size_t kMostDevices = 32;  // looked at as partners, the least loaded
constexpr double kRealGain = 1e-6;        // share of the cost below which a gain may be rounding
constexpr double kPairWeight = 0.2;       // of the two devices' load against the plan's cost
constexpr int kLevelSteps = 2;            // times the devices: steps that only thin out the slowest

double largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

}  // namespace

Descent::Descent(const Problem& problem, const PlanEvaluator& evaluator,
                 const ShapeCatalog& catalog)
    : evaluator_(evaluator),
      catalog_(catalog),
      memory_bytes_(problem.cluster.memory_bytes),
      plan_(problem, evaluator, catalog),
      ready_ms_(static_cast<std::size_t>(problem.cluster.devices)),
      total_ms_(ready_ms_.size()),
      sorted_(ready_ms_.size()) {}

WalkResult Descent::run(const Assignment& start_plan, const CommResponse& response,
                        const Stop& stop) {
  start(start_plan, response);
  while (plan_.devices() > 1 && !stop(candidates_)) {
    bool made = false;
    for (const Target target : {kReady, kOwn, kDims}) {
      made = unit_[target] > 0 && step(target);
      if (made) break;
    }
    if (!made) break;
  }
  return {plan_.assignment(), cost_, candidates_};
}

void Descent::start(const Assignment& start, const CommResponse& response) {
  plan_.assign(start);
  response_ = response;
  unit_ = {response.waiting, 1, response.widest_per_dim};
  estimate_ = CostEstimate(response, 0);
  evaluator_.plan_details({1, plan_.compute_ms(), plan_.dim_sums()}, {ready_ms_, total_ms_},
                          scratch_);
  estimate_.set(ready_ms_, total_ms_, plan_.dim_sums());
  cost_ = largest(total_ms_);
  candidates_ = 1;
  level_steps_ = 0;
  for (Sorted& list : sorted_) list.pieces.clear();
  weigh_entries();
}

/// A shard adds the same share of its own cost to every device: a guess, good enough to choose what
/// the cost models are asked about.
void Descent::weigh_entries() {
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
    const double ready = (std::isfinite(share) ? share : 1) * evaluator_.shape_cost(entry.shape) +
                         response_.ready_per_dim * entry.dim;
    const double own = (1 - response_.waiting) * ready + response_.own_per_dim * entry.dim;
    weights_[id] = {ready, own, static_cast<double>(entry.dim)};
  }
}

Descent::Load Descent::load(std::int32_t device) const {
  return {estimate_.ready_ms(device), estimate_.own_ms(device),
          static_cast<double>(plan_.dim_sums()[static_cast<std::size_t>(device)])};
}

const Descent::Sorted& Descent::sorted(std::int32_t device) {
  Sorted& list = sorted_[static_cast<std::size_t>(device)];
  if (!list.pieces.empty()) return list;
  const std::span<const std::int32_t> pieces = plan_.pieces_on(device);
  std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(list.pieces),
               [&](std::int32_t piece) { return !plan_.entry_of(piece).everywhere; });
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

void Descent::touch(const Move& move) {
  for (const DeviceChange& change : move.changes) {
    if (change.device != kNoDevice) sorted_[static_cast<std::size_t>(change.device)].pieces.clear();
  }
}

/// The partners that are looked at: less loaded ones, the least loaded of many.
void Descent::choose_devices(Target target, std::int32_t from) {
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
void Descent::add(Target target, std::int32_t from, const Load& less, const Load& more,
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

void Descent::propose(Target target, std::int32_t from) {
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
      Proposal shift;
      shift.piece = piece;
      shift.device = to;
      add(target, from, weight(piece), weight(piece), shift);
      propose_swaps(target, from, piece, to);
      propose_splits(target, from, piece, to);
    }
    propose_merges(target, from, piece);
  }
}

/// Against the pieces of `to`, two of each class, that come nearest to levelling the devices, or to
/// changing nothing but dims.
void Descent::propose_swaps(Target target, std::int32_t from, std::int32_t piece, std::int32_t to) {
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
void Descent::propose_splits(Target target, std::int32_t from, std::int32_t piece,
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
void Descent::propose_merges(Target target, std::int32_t from, std::int32_t piece) {
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

Move Descent::move_of(const Proposal& proposal) const {
  switch (proposal.kind) {
    case Kind::kShift:
      return shift_of(plan_, proposal.piece, proposal.device);
    case Kind::kSwap:
      return swap_of(plan_, proposal.piece, proposal.other);
    case Kind::kSplit:
      return split_of(plan_, proposal.piece, proposal.stays, proposal.leaves, proposal.device,
                      kNoPiece);
    case Kind::kMerge:
      break;
  }
  return merge_of(plan_, proposal.other, proposal.piece, proposal.merged);
}

/// The moves worth making by the cost models of single devices, the best first.
void Descent::price_best(Target target, std::int32_t from) {
  if (proposals_.size() > kPriced) {
    std::nth_element(proposals_.begin(), proposals_.begin() + kPriced, proposals_.end(),
                     [](const Proposal& a, const Proposal& b) { return a.score < b.score; });
    proposals_.resize(kPriced);
  }
  priced_.clear();
  const double most = load(from)[target];
  const double rounding = kRealGain * std::abs(cost_);
  for (const Proposal& proposal : proposals_) {
    Priced found{0, move_of(proposal)};
    ++candidates_;
    if (!price(plan_, memory_bytes_, found.move)) continue;
    const CostEstimate::Effect effect = estimate_.effect_of(plan_, found.move);
    const double pair = Load{effect.ready_ms, effect.own_ms, effect.dims}[target];
    const double gain = unit_[target] * (most - pair);
    if (effect.cost > estimate_.cost() + rounding || gain < rounding) continue;
    found.key = effect.cost - kPairWeight * gain + effect.level;
    priced_.push_back(found);
  }
  std::stable_sort(priced_.begin(), priced_.end(),
                   [](const Priced& a, const Priced& b) { return a.key < b.key; });
}

/// Makes the move if the whole plan gets no dearer by it.
bool Descent::make(const Move& move) {
  std::array<Edit, 3> undo;
  for (int edit = 0; edit < move.edit_count; ++edit) {
    undo[static_cast<std::size_t>(edit)] = plan_.apply(move.edits[static_cast<std::size_t>(edit)]);
  }
  ++candidates_;
  evaluator_.plan_details({1, plan_.compute_ms(), plan_.dim_sums()}, {ready_ms_, total_ms_},
                          scratch_);
  const double cost = largest(total_ms_);
  const bool gains = cost < cost_ - kRealGain * std::abs(cost_);
  const bool level = cost <= cost_ && level_steps_ < kLevelSteps * plan_.devices();
  if (gains || level) {
    level_steps_ = gains ? 0 : level_steps_ + 1;
    cost_ = cost;
    estimate_.set(ready_ms_, total_ms_, plan_.dim_sums());
    return true;
  }
  for (int edit = move.edit_count; edit > 0; --edit) {
    plan_.apply(undo[static_cast<std::size_t>(edit) - 1]);
  }
  return false;
}

bool Descent::step(Target target) {
  const std::int32_t from = target == kReady ? estimate_.last_ready()
                            : target == kOwn ? estimate_.largest_own()
                                             : estimate_.widest();
  propose(target, from);
  price_best(target, from);
  for (std::size_t k = 0; k < std::min(kTried, priced_.size()); ++k) {
    const bool made = make(priced_[k].move);
    touch(priced_[k].move);  // taking back may have changed the order of pieces
    if (made) return true;
  }
  return false;
}

}  // namespace neuroshard::search
