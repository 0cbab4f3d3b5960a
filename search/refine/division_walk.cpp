#include "search/refine/division_walk.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "search/local/allowance.h"
#include "search/local/random_layout.h"

namespace neuroshard::search {
namespace {

// 72 tasks of 8 to 40 generated tables (seeds 1 to 4) on 8, 16 and 32 devices, 300,000 candidates
// by h200_sim, beside a search without these walks: 0.57 % cheaper in the mean. Two tables a step
// are 0.05 % costlier than one, three 0.22. With two, temperatures of 0.02 to 0.002 are 0.04 %
// costlier, of 0.002 to 0.0005 0.11; one step in 4 over all devices 0.14 %, one in 16 0.02.
constexpr double kFirstTemperature = 0.005;  // shares of the plan's cost
constexpr double kLastTemperature = 0.001;
constexpr std::uint64_t kOnAllDevices = 8;  // one step in so many asks for that ..
// .. and where costs add up. 39 tasks of 3 to 12 tables that fill 95 and 98 % of 2 to 8 devices, by
// TorchRec's formula, against what CP-SAT found: 0.45 % above it in the mean after 100,000
// candidates, 0.97 with 3 or 4, 0.85 with 8. (golden_costs_bench: within 0.02 % but for
// dcnv2_formula_16, 0.1 % costlier.)
constexpr std::uint64_t kOnAllDevicesAdding = 2;
constexpr double kLeastMs = 1e-9;  // so that tables without lookups are drawn, too

// Walks of 100,000 candidates of 8 to 150 generated tables on 8 to 32 devices took 0.7 to 4
// microseconds each, steps of these 0.15 to 0.2 microseconds a piece (2-core AMD EPYC).
constexpr std::size_t kPiecesPerCandidate = 8;

}  // namespace

DivisionWalk::DivisionWalk(const Problem& problem, const PlanEvaluator& evaluator,
                           const ShapeCatalog& catalog)
    : problem_(problem), evaluator_(evaluator), catalog_(catalog) {
  for (std::int32_t table = 0; table < catalog.tables(); ++table) {
    const double ms = evaluator.shape_cost(catalog.entry(catalog.whole(table)).shape);
    tables_.add(std::max(kLeastMs, ms));
  }
}

std::int64_t DivisionWalk::candidates_of_step(std::size_t pieces) {
  return static_cast<std::int64_t>(std::max<std::size_t>(1, pieces / kPiecesPerCandidate));
}

/// A piece that several devices hold counts once, on the first of them.
void DivisionWalk::divide_as(const Assignment& start) {
  divided_.assign(static_cast<std::size_t>(catalog_.tables()), {});
  for (const Placed& piece : start) {
    if (piece.device == kNoDevice || piece.device % catalog_.holders(piece.entry) != 0) continue;
    divided_[static_cast<std::size_t>(catalog_.entry(piece.entry).table)].push_back(piece.entry);
  }
}

Pieces DivisionWalk::other_division(std::int32_t table, Rng& rng) const {
  const std::uint64_t on_all = evaluator_.additive() ? kOnAllDevicesAdding : kOnAllDevices;
  if (rng.below(on_all) == 0) {
    const std::array ways{catalog_.block(table), catalog_.replica(table)};
    const EntryId way = ways[rng.below(ways.size())];
    if (way != kNoEntry) return {way};
  }
  Pieces drawn = random_division(catalog_, table, rng);
  return drawn.empty() ? divided_[static_cast<std::size_t>(table)] : drawn;
}

const Pieces& DivisionWalk::pieces() {
  pieces_.clear();
  for (const Pieces& own : divided_) pieces_.insert(pieces_.end(), own.begin(), own.end());
  return pieces_;
}

WalkResult DivisionWalk::run(const Assignment& start, std::int64_t budget,
                             const CommResponse& response, Rng rng, const WalkProgress& progress) {
  divide_as(start);
  PieceTrials trials(problem_, evaluator_, catalog_);
  trials.set_response(response);
  WalkResult result{{}, std::numeric_limits<double>::infinity(), 0};
  std::int64_t step = candidates_of_step(pieces().size());
  if (step > budget || !trials.place(pieces_)) return result;
  double now = trials.last_cost();
  for (result.candidates = step;; result.candidates += step) {
    const double done = progress(result.candidates);
    if (done >= 1) break;
    const auto table = static_cast<std::int32_t>(tables_.draw(rng));
    Pieces& own = divided_[static_cast<std::size_t>(table)];
    Pieces before = std::exchange(own, other_division(table, rng));
    step = candidates_of_step(pieces().size());
    if (step > budget - result.candidates) break;
    const bool fits = trials.place(pieces_);
    const double cooled = std::pow(kLastTemperature / kFirstTemperature, done);
    const Allowance allowance(kFirstTemperature * cooled * std::abs(now), rng);
    if (fits && allowance.lets(trials.last_cost(), now)) {
      now = trials.last_cost();
    } else {
      own = std::move(before);
    }
  }
  result.best = trials.assignment();
  result.cost = trials.cost();
  return result;
}

}  // namespace neuroshard::search
