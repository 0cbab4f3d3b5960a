#include "search/local/relayout_walk.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/local/allowance.h"
#include "search/local/random_layout.h"

namespace neuroshard::search {
namespace {

/// Of run_freely(), 1 / alpha as a share of the start's cost by the table: FlexFlow's alpha is per
/// millisecond of its models. 32 tasks of 4 to 11 tables on 2 to 4 devices, h200_sim, 100,000
/// steps, mean above refine's plans: 0.8 % with 0.1, 0.4 with 0.2, 0.6 with 0.4, 2.3 with 0.8.
constexpr double kFreeTemperature = 0.2;
constexpr double kTemperature = 5e-4;  // of the start's cost, of other walks
/// What each MiB of memory that a device lacks costs on the way, FlexFlow's.
constexpr double kMsPerLackingMib = 1;
// Back to the best plan, where the objective is not softened. Softened, that is what walks are to
// get away from: 32 tasks of 8 to 40 generated tables on 8 to 32 devices, h200_sim and h100_sim,
// 100,000 candidates, four seeds, dims softened in all walks, are 2.1 and 1.4 % above the best
// known plans without a way back, 3.7 and 1.8 with one after each hundredth of the steps, 3.3
// and 1.4 after each third.
constexpr std::int64_t kResetSteps = 1000;
constexpr std::int64_t kStepsPerCheck = 64;
constexpr std::uint64_t kPlaces = 8;  // drawn for a piece at most

// One in so many relayouts looks for places with room. DLRM-DCNv2 on 8 devices of 13.4 to 15 GB is
// 14 to 19 % cheaper (h200_sim, 1 s: 2.50 and 2.48 ms, not 3.08 and 2.89); with all of them, 480
// tasks of one to three tables a device that fill 75 to 95 % of it were 1 % costlier at 40,000
// candidates, as pieces came back to where they were.
constexpr std::uint64_t kWithRoom = 4;

// Of the relayouts that deal, those that begin with the devices that the table was on: pieces at
// random places meet on devices that are as full as they may be, and are taken back. 32 tasks of 8
// to 40 generated tables on 8 to 32 devices, h200_sim and h100_sim, 300,000 candidates, four seeds:
// 2 % above the best known plans without any of it, 0.9 to 2.6 % with; 0.8 instead is the same.
constexpr double kSamePlaces = 0.5;

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

RelayoutWalk::RelayoutWalk(const Problem& problem, const PlanEvaluator& evaluator,
                           const ShapeCatalog& catalog)
    : evaluator_(evaluator),
      memory_bytes_(problem.cluster.memory_bytes),
      plan_(problem, evaluator, catalog),
      coster_(evaluator) {}

/// In detail, as softened_objective() needs it, that takes longer.
double RelayoutWalk::cost(bool in_detail) {
  if (in_detail) return coster_.cost(plan_);
  double cost = 0;
  evaluator_.plan_costs(plan_.batch(), {&cost, 1}, scratch_);
  return cost;
}

/// Of the plan that cost(true) was asked about last.
double RelayoutWalk::softened_objective() {
  estimate_.set(coster_.ready_ms(), coster_.total_ms(), plan_.dim_sums());
  return estimate_.objective();
}

/// Of what is beyond the devices' memory.
double RelayoutWalk::memory_penalty_ms() const {
  double bytes = 0;
  for (const std::int64_t each : plan_.bytes()) {
    bytes += static_cast<double>(std::max<std::int64_t>(0, each - memory_bytes_));
  }
  return kMsPerLackingMib * bytes / (1 << 20);
}

void RelayoutWalk::take_back() {
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) plan_.apply(*undo);
}

/// The first of the devices that a piece goes to; `by_load`, or with hosts, whose blocks no move
/// brings elsewhere, the least loaded of one to kPlaces drawn: the more, the greedier.
std::int32_t RelayoutWalk::draw_place(EntryId piece, bool with_room, bool by_load, Rng& rng) const {
  const auto holders = static_cast<std::size_t>(plan_.catalog().holders(piece));
  const auto draw = [&] {
    return with_room
               ? random_place_with_room(plan_.catalog(), piece, plan_.bytes(), memory_bytes_, rng)
               : random_place(plan_.catalog(), piece, plan_.devices(), rng);
  };
  const auto load = [&](std::int32_t first) {
    const std::span<const float> compute =
        plan_.compute_ms().subspan(static_cast<std::size_t>(first), holders);
    return *std::max_element(compute.begin(), compute.end());
  };
  std::int32_t best = draw();
  const bool greedy = by_load || plan_.catalog().host_devices() > 0;
  for (std::uint64_t more = greedy ? rng.below(kPlaces) : 0; more > 0; --more) {
    const std::int32_t other = draw();
    if (load(other) < load(best)) best = other;
  }
  return best;
}

std::vector<EntryId> RelayoutWalk::draw_pieces(std::int32_t table, bool free, Rng& rng) const {
  const ShapeCatalog& catalog = plan_.catalog();
  if (catalog.replica(table) != kNoEntry && rng.below(3) == 0) return {catalog.replica(table)};
  if (free && catalog.block(table) != kNoEntry && rng.below(3) == 0) {
    return {catalog.block(table)};
  }
  if (free && rng.below(4) == 0) {
    std::vector<EntryId> cut = random_cut(catalog, table, rng);
    if (!cut.empty()) return cut;
  }
  return random_division(catalog, table, rng);
}

/// Of each piece.
std::vector<std::int32_t> RelayoutWalk::devices_with(std::int32_t table) const {
  std::vector<std::int32_t> devices;
  for (const std::int32_t piece : plan_.pieces_of(table)) {
    devices.push_back(plan_.placed(piece).device);
  }
  return devices;
}

/// Each once, in random order.
std::vector<std::int32_t> RelayoutWalk::devices_of(std::int32_t table, Rng& rng) const {
  std::vector<std::int32_t> devices = devices_with(table);
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  for (std::size_t k = devices.size(); k > 1; --k) std::swap(devices[k - 1], devices[rng.below(k)]);
  return devices;
}

void RelayoutWalk::relayout(std::int32_t table, const Mode& mode, Rng& rng) {
  const bool deals = mode.deals;
  const std::vector<EntryId> pieces = draw_pieces(table, mode.free, rng);
  if (pieces.empty()) return;  // there is nothing else for it
  std::vector<std::int32_t> before;
  if (deals && rng.uniform() < kSamePlaces) before = devices_of(table, rng);
  while (!plan_.pieces_of(table).empty()) {
    apply({plan_.pieces_of(table).back(), {kNoEntry, kNoDevice}, {}});
  }
  const bool with_room = rng.below(kWithRoom) == 0;
  const bool joins = mode.free && rng.below(2) == 0;
  std::vector<std::int32_t> taken;
  for (const EntryId piece : pieces) {
    const std::int32_t holders = plan_.catalog().holders(piece);
    std::int32_t first = kNoDevice;
    while (holders == 1 && first == kNoDevice && !before.empty()) {
      if (plan_.catalog().entry(piece).goes_on(before.back())) first = before.back();
      before.pop_back();
    }
    if (first == kNoDevice) first = draw_place(piece, with_room, deals, rng);
    first = place_apart(plan_.catalog(), piece, first, plan_.devices(), taken);
    if (first == kNoDevice || plan_.meets_other_width(piece, first)) {
      complete_ = false;
      return;
    }
    taken.push_back(first);
    if (joins && join(piece, first)) continue;
    for (std::int32_t device = first; device < first + holders; ++device) {
      apply({plan_.next_piece(), {piece, device}, {}});
    }
  }
  if (deals) deal_out_others(table, rng);
}

/// With a piece of its table that is on the device, if there is one.
bool RelayoutWalk::join(EntryId piece, std::int32_t device) {
  for (const std::int32_t other : plan_.pieces_of(plan_.catalog().entry(piece).table)) {
    if (plan_.placed(other).device != device) continue;
    const EntryId both = plan_.catalog().joined(plan_.placed(other).entry, piece);
    if (both == kNoEntry) continue;
    apply({other, {both, device}, {}});
    return true;
  }
  return false;
}

WalkResult RelayoutWalk::run(const Assignment& start, std::int64_t budget, Rng rng,
                             const WalkProgress& progress) {
  return walk(start, budget, {}, rng, progress);
}

WalkResult RelayoutWalk::run_freely(const Assignment& start, std::int64_t budget, Rng rng,
                                    const WalkProgress& progress) {
  return walk(start, budget, {.free = true}, rng, progress);
}

WalkResult RelayoutWalk::run_dealing(const Assignment& start, std::int64_t budget,
                                     const WalkOptions& options, const CommResponse& response,
                                     Rng rng, const WalkProgress& progress) {
  response_ = response;
  estimate_ = CostEstimate(response, options.balance_weight);
  return walk(start, budget, {.deals = true, .options = options}, rng, progress);
}

WalkResult RelayoutWalk::walk(const Assignment& start, std::int64_t budget, const Mode& mode,
                              Rng rng, const WalkProgress& progress) {
  plan_.assign(start);
  const bool softened = mode.softened();
  WalkResult result{start, cost(softened), 0};
  int norm = 0;  // that the estimate has
  double now = result.cost;
  double temperature =
      std::abs(now) * (mode.free ? kFreeTemperature / plan_.catalog().tables() : kTemperature);
  const auto anneal = [&](double done) {
    temperature = temperature_at(mode.options, done) * std::abs(result.cost);
    const int next = norm_at(mode.options, done);
    if (next == norm) return;
    norm = next;
    estimate_.soften(norm, mode.options.soft_dims);
    cost(true);
    now = softened_objective();
  };
  const std::int64_t reset =
      budget > 0 ? std::clamp<std::int64_t>(budget / 100, 1, kResetSteps) : kResetSteps;
  const auto tables = static_cast<std::uint64_t>(plan_.catalog().tables());
  std::int64_t& step = result.candidates;
  for (; budget == 0 || step < budget; ++step) {
    if (step % kStepsPerCheck == 0) {
      const double done = progress(step);
      if (done >= 1) break;
      if (softened) anneal(done);
    }
    if (!softened && step % reset == reset - 1) {
      plan_.assign(result.best);
      now = cost(false);
    }
    undo_.clear();
    complete_ = true;
    relayout(static_cast<std::int32_t>(rng.below(tables)), mode, rng);
    const bool fits = complete_ && plan_.fits(memory_bytes_);
    const double found = fits ? cost(softened) : kNever;
    double objective = found;
    if (fits && softened) objective = softened_objective();
    if (!fits && complete_ && mode.free) objective = cost(softened) + memory_penalty_ms();
    if (!Allowance(temperature, rng).lets(objective, now)) {
      take_back();
      continue;
    }
    now = objective;
    if (found >= result.cost) continue;
    result.cost = found;
    result.best = plan_.assignment();
  }
  return result;
}

}  // namespace neuroshard::search
