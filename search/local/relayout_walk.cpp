#include "search/local/relayout_walk.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/local/allowance.h"
#include "search/local/random_layout.h"

namespace neuroshard::search {
namespace {

/// 1 / alpha as a share of the start's cost: FlexFlow's alpha is per millisecond of its models.
constexpr double kTemperature = 5e-4;
constexpr std::int64_t kResetSteps = 1000;
constexpr std::int64_t kStepsPerCheck = 64;
constexpr std::uint64_t kPlaces = 8;  // drawn for a piece at most

// One in so many relayouts looks for places with room. DLRM-DCNv2 on 8 devices of 13.4 to 15 GB is
// 14 to 19 % cheaper (h200_sim, 1 s: 2.50 and 2.48 ms, not 3.08 and 2.89); with all of them, 480
// tasks of one to three tables a device that fill 75 to 95 % of it were 1 % costlier at 40,000
// candidates, as pieces came back to where they were.
constexpr std::uint64_t kWithRoom = 4;

}  // namespace

RelayoutWalk::RelayoutWalk(const Problem& problem, const PlanEvaluator& evaluator,
                           const ShapeCatalog& catalog)
    : evaluator_(evaluator),
      memory_bytes_(problem.cluster.memory_bytes),
      plan_(problem, evaluator, catalog) {}

bool RelayoutWalk::fits() const {
  return std::all_of(plan_.bytes().begin(), plan_.bytes().end(),
                     [this](std::int64_t bytes) { return bytes <= memory_bytes_; });
}

double RelayoutWalk::cost() {
  double cost = 0;
  evaluator_.plan_costs({1, plan_.compute_ms(), plan_.dim_sums(), {&plan_.collectives(), 1}},
                        {&cost, 1}, scratch_);
  return cost;
}

/// The first of the devices that a piece goes to. With hosts, whose blocks no move brings
/// elsewhere, the least loaded of one to kPlaces drawn: the more, the greedier.
std::int32_t RelayoutWalk::draw_place(EntryId piece, bool with_room, Rng& rng) const {
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
  const bool hosts = plan_.catalog().host_devices() > 0;
  for (std::uint64_t more = hosts ? rng.below(kPlaces) : 0; more > 0; --more) {
    const std::int32_t other = draw();
    if (load(other) < load(best)) best = other;
  }
  return best;
}

std::vector<EntryId> RelayoutWalk::draw_pieces(std::int32_t table, Rng& rng) const {
  const ShapeCatalog& catalog = plan_.catalog();
  if (catalog.replica(table) != kNoEntry && rng.below(3) == 0) return {catalog.replica(table)};
  return random_division(catalog, table, rng);
}

void RelayoutWalk::relayout(std::int32_t table, Rng& rng) {
  const std::vector<EntryId> pieces = draw_pieces(table, rng);
  if (pieces.empty()) return;  // there is nothing else for it
  while (!plan_.pieces_of(table).empty()) {
    apply({plan_.pieces_of(table).back(), {kNoEntry, kNoDevice}, {}});
  }
  const bool with_room = rng.below(kWithRoom) == 0;
  for (const EntryId piece : pieces) {
    const std::int32_t holders = plan_.catalog().holders(piece);
    const std::int32_t first = draw_place(piece, with_room, rng);
    for (std::int32_t device = first; device < first + holders; ++device) {
      apply({plan_.next_piece(), {piece, device}, {}});
    }
  }
}

WalkResult RelayoutWalk::run(const Assignment& start, std::int64_t budget, Rng rng,
                             const Stop& stop) {
  plan_.assign(start);
  double now = cost();
  WalkResult result{start, now, 0};
  const double temperature = kTemperature * std::abs(now);
  const std::int64_t reset =
      budget > 0 ? std::clamp<std::int64_t>(budget / 100, 1, kResetSteps) : kResetSteps;
  const auto tables = static_cast<std::uint64_t>(plan_.catalog().tables());
  std::int64_t& step = result.candidates;
  for (; budget == 0 || step < budget; ++step) {
    if (step % kStepsPerCheck == 0 && stop(step)) break;
    if (step % reset == reset - 1) {
      plan_.assign(result.best);
      now = result.cost;
    }
    undo_.clear();
    relayout(static_cast<std::int32_t>(rng.below(tables)), rng);
    const double found = fits() ? cost() : std::numeric_limits<double>::infinity();
    if (Allowance(temperature, rng).lets(found, now)) {
      now = found;
      if (now >= result.cost) continue;
      result.cost = now;
      result.best = plan_.assignment();
    } else {
      for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) plan_.apply(*undo);
    }
  }
  return result;
}

}  // namespace neuroshard::search
