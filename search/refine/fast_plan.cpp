#include "search/refine/fast_plan.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/core/bytes.h"
#include "search/local/descent.h"
#include "search/refine/divider.h"
#include "search/refine/piece_trials.h"

namespace neuroshard::search {
namespace {

/// Of the balanced load: the heaviest piece that is left whole.
constexpr std::array kHeaviest{4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5, 0.35};
/// golden_costs_bench: 1 or 4 multiples without a gain are within 0.02 % on all of ten settings; 2
/// halvings are 0.03 % costlier in the mean (formula_64 +0.20), 12 are 0.03 % cheaper (networks_64
/// -0.24).
constexpr int kTooFine = 2;  // multiples in a row without a gain: smaller ones are not tried
/// Of the dims of an even share, or of the widest piece if that is more: caps on a device's dims.
constexpr std::array kCaps{1.02, 1.1, 1.3};
/// Of a device's memory: the largest piece.
constexpr std::array kLargest{1.0, 0.5, 0.25, 0.125};
constexpr std::int32_t kProbed = 2;      // devices
constexpr std::int64_t kAtLeast = 8;     // plans, however little time there is, ..
constexpr std::int64_t kSoon = 100'000;  // .. for at most so many tables times devices; else one
constexpr std::size_t kPatience = 6;     // halvings in a row without a gain

/// One fast start.
class FastStart {
 public:
  FastStart(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
            const StopCheck& stop, std::span<const Division> divisions, std::int64_t budget,
            bool rows_on_one_host = false)
      : problem_(problem),
        evaluator_(evaluator),
        catalog_(catalog),
        stop_(stop),
        budget_(budget),
        divider_(evaluator, catalog, divisions),
        large_(std::int64_t{catalog.tables()} * problem.cluster.devices > kSoon),
        trials_(problem, evaluator, catalog),
        descent_(problem, evaluator, catalog) {
    trials_.keep_rows_on_one_host(rows_on_one_host);
  }

  std::optional<FastPlan> run();
  FastPlan descend_from(const Assignment& start);
  FastPlan go_on_from(const Assignment& start);

 private:
  enum class Decider { kTotal, kReady, kDims };

  [[nodiscard]] bool over() const {
    return stop_.cancelled() || trials_.placed() >= budget_ ||
           (trials_.placed() >= (large_ ? 1 : kAtLeast) && stop_.stop());
  }
  bool place_whole();
  void try_heaviest();
  void try_widest();
  void try_caps();
  void learn_response(const Assignment& start);
  void guess_response(const Pieces& pieces);
  void set_response(const CommResponse& response);
  void descend(FastPlan& best);
  void balance(const Pieces& pieces);
  void divide_evenly();
  void halve_deciding();
  [[nodiscard]] EntryId deciding_piece(Decider decider) const;

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const StopCheck& stop_;
  const std::int64_t budget_;  // plans
  Divider divider_;
  PieceLimits limits_;  // of the cheapest plan
  double balanced_load_ = 0;
  const bool large_;
  PieceTrials trials_;
  Descent descent_;
  CommResponse response_;
  bool finer_ = false;  // than load asks for
};

void FastStart::set_response(const CommResponse& response) {
  response_ = response;
  trials_.set_response(response);
  divider_.weigh_dims(response.ready_per_dim + response.own_per_dim + response.widest_per_dim);
}

void FastStart::learn_response(const Assignment& start) {
  LocalPlan plan(problem_, evaluator_, catalog_);
  plan.assign(start);
  Scratch scratch;
  set_response(probe_response(plan.batch(), evaluator_, scratch, kProbed));
}

/// Before there is a plan: all devices have the dims of an even share, and as much to do as one
/// with every n-th of the pieces.
void FastStart::guess_response(const Pieces& pieces) {
  if (evaluator_.additive() || problem_.cluster.devices < 2) return;
  const auto devices = static_cast<std::size_t>(problem_.cluster.devices);
  AlignedVector<float> state(evaluator_.state_size());
  evaluator_.clear(state.data());
  float compute = evaluator_.empty_cost();
  std::int64_t dims = 0;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const CatalogEntry& entry = catalog_.entry(pieces[k]);
    dims += catalog_.holders(pieces[k]) * entry.exchanged.dims;
    if (k % devices == 0) compute = evaluator_.place(entry.shape, state.data());
  }
  const std::vector<float> compute_ms(devices, compute);
  const std::vector<std::int64_t> dim_sums(devices, dims / problem_.cluster.devices);
  Scratch scratch;
  set_response(probe_response({1, compute_ms, dim_sums}, evaluator_, scratch, kProbed));
}

/// What a device would have of these pieces if all had the same.
void FastStart::balance(const Pieces& pieces) {
  double total = 0;
  for (const EntryId id : pieces) {
    total += catalog_.holders(id) * divider_.weight(id);
  }
  balanced_load_ = total / problem_.cluster.devices;
}

void FastStart::divide_evenly() {
  const Pieces whole = trials_.pieces();
  trials_.place(whole);
  balance(whole);
  try_heaviest();
  if (response_.widest_per_dim == 0) return;
  const double before = trials_.cost();
  try_widest();
  if (trials_.cost() < before) try_heaviest();
  try_caps();
}

void FastStart::try_heaviest() {
  std::size_t pieces = trials_.pieces().size();
  int failures = 0;
  for (const double heaviest : kHeaviest) {
    if (over()) return;
    if (failures == kTooFine) break;
    if (large_ && heaviest >= 1) continue;  // no piece is as heavy
    PieceLimits limits = limits_;
    limits.weight = heaviest * balanced_load_;
    const Pieces trial = divider_.divided(limits);
    if (trial.size() == pieces) continue;
    pieces = trial.size();
    failures = trials_.improve(trial) ? 0 : failures + 1;
    if (failures == 0) limits_ = limits;
  }
}

/// As long as single pieces are wider than an even share, they decide the width: all at once.
void FastStart::try_widest() {
  double sum = 0;
  double widest = 0;
  for (const EntryId id : trials_.pieces()) {
    const CatalogEntry& entry = catalog_.entry(id);
    const auto dims = static_cast<double>(entry.exchanged.dims);
    sum += dims;
    if (entry.moves()) widest = std::max(widest, dims);
  }
  PieceLimits limits = limits_;
  for (int failures = 0; failures < kTooFine && widest > sum / problem_.cluster.devices;) {
    if (over()) break;
    limits.dim = widest /= 2;
    failures = trials_.improve(divider_.divided(limits)) ? 0 : failures + 1;
    if (failures == 0) limits_ = limits;
  }
}

void FastStart::try_caps() {
  double best_cap = trials_.cap();
  for (const double cap : kCaps) {
    if (over()) return;
    trials_.set_cap(cap);
    const Pieces again = trials_.pieces();
    if (trials_.improve(again)) best_cap = cap;
  }
  trials_.set_cap(best_cap);
}

/// A piece that can be halved of the device that decides the last plan's cost: the heaviest of the
/// one with the highest total or the last to be ready, or the widest of that with the most dims.
EntryId FastStart::deciding_piece(Decider decider) const {
  const std::span<const std::int64_t> dims = trials_.placer().dim_sums();
  const std::vector<double>& load =
      decider == Decider::kReady ? trials_.coster().ready_ms() : trials_.coster().total_ms();
  const bool by_dims = decider == Decider::kDims;
  const auto device = static_cast<std::int32_t>(
      by_dims ? std::max_element(dims.begin(), dims.end()) - dims.begin()
              : std::max_element(load.begin(), load.end()) - load.begin());
  EntryId most = kNoEntry;
  for (const Placed& piece : trials_.placer().assignment()) {
    const CatalogEntry& entry = catalog_.entry(piece.entry);
    if (piece.device != device || divider_.parts_of(piece.entry).first == kNoEntry) continue;
    const bool more =
        most == kNoEntry || (by_dims ? entry.exchanged.dims > catalog_.entry(most).exchanged.dims
                                     : divider_.weight(piece.entry) > divider_.weight(most));
    if (more) most = piece.entry;
  }
  return most;
}

/// All pieces of the deciding table and width are halved at once: two that are even with each
/// other have to be halved both before anything is gained.
void FastStart::halve_deciding() {
  Pieces pieces = trials_.pieces();
  if (!trials_.place(pieces)) return;
  std::vector<Decider> deciders{Decider::kTotal};
  if (response_.waiting > 0) deciders.push_back(Decider::kReady);
  if (response_.waiting > 0.5) std::swap(deciders[0], deciders[1]);
  if (response_.widest_per_dim > 0) deciders.push_back(Decider::kDims);
  for (std::size_t failures = 0; failures < kPatience && !over();) {
    const EntryId id = deciding_piece(deciders[failures % deciders.size()]);
    if (id == kNoEntry) return;
    const auto count = static_cast<std::size_t>(std::count(pieces.begin(), pieces.end(), id));
    std::erase(pieces, id);
    for (const EntryId part : divider_.halved(id)) pieces.insert(pieces.end(), count, part);
    const double before = trials_.cost();
    if (!trials_.place(pieces)) return;
    failures = trials_.cost() < before ? 0 : failures + 1;
  }
}

/// Tables that are split for their bytes alone; finer where memory is tight. Where a plan takes
/// long, there may be time for this one only: no piece is heavier than the balanced load, either,
/// and exchanges count already, by a guess.
bool FastStart::place_whole() {
  std::int64_t room = problem_.cluster.memory_bytes;
  for (std::int32_t table = 0; table < catalog_.tables(); ++table) {
    const CatalogEntry& entry =
        catalog_.entry(undivided(catalog_, table, divider_.division(table)));
    if (entry.everywhere()) room -= entry.bytes;
  }
  trials_.set_room(room);
  for (const double largest : kLargest) {
    limits_.bytes = scaled_bytes(room, largest);
    if (large_) {
      const Pieces pieces = divider_.divided(limits_);
      guess_response(pieces);
      balance(pieces);
      limits_.weight = balanced_load_;
    }
    if (trials_.place(divider_.divided(limits_))) return true;
    if (stop_.stop()) return false;
    finer_ = true;
  }
  return false;
}

std::optional<FastPlan> FastStart::run() {
  if (!place_whole()) return std::nullopt;
  if (large_) trials_.stop_by(stop_);
  if (!large_ || !over()) {
    learn_response(trials_.assignment());
    divide_evenly();
    halve_deciding();
  }
  FastPlan best{trials_.assignment(), trials_.cost(), trials_.placed(), finer_};
  if (!stop_.stop()) descend(best);
  return best;
}

void FastStart::descend(FastPlan& best) {
  WalkResult descended = descent_.run(best.pieces, response_, budget_ - best.evaluations, stop_);
  best.evaluations += descended.candidates;
  best.pieces = std::move(descended.best);
  best.cost = descended.cost;
}

FastPlan FastStart::descend_from(const Assignment& start) {
  FastPlan best{start, 0, 1, false};
  learn_response(best.pieces);
  descend(best);
  return best;
}

/// A piece that several devices hold counts once, on the first of them.
FastPlan FastStart::go_on_from(const Assignment& start) {
  FastPlan best = descend_from(start);
  Pieces pieces;
  for (const Placed& piece : start) {
    if (piece.device % catalog_.holders(piece.entry) == 0) pieces.push_back(piece.entry);
  }
  if (!over() && trials_.place(pieces)) {
    halve_deciding();
    FastPlan anew{trials_.assignment(), trials_.cost(), trials_.placed(), false};
    descend(anew);
    anew.evaluations += best.evaluations;
    if (anew.cost < best.cost) return anew;
    best.evaluations = anew.evaluations;
  }
  return best;
}

}  // namespace

std::optional<FastPlan> fast_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                  const ShapeCatalog& catalog, const StopCheck& stop,
                                  std::span<const Division> divisions, std::int64_t budget,
                                  bool rows_on_one_host) {
  return FastStart(problem, evaluator, catalog, stop, divisions, budget, rows_on_one_host).run();
}

FastPlan descend(const Problem& problem, const PlanEvaluator& evaluator,
                 const ShapeCatalog& catalog, const StopCheck& stop, const Assignment& start,
                 std::int64_t budget) {
  return FastStart(problem, evaluator, catalog, stop, {}, budget).descend_from(start);
}

FastPlan go_on_from(const Problem& problem, const PlanEvaluator& evaluator,
                    const ShapeCatalog& catalog, const StopCheck& stop, const Assignment& start) {
  return FastStart(problem, evaluator, catalog, stop, {}, kNoBudget).go_on_from(start);
}

}  // namespace neuroshard::search
