#include "search/refine/fast_plan.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "engine/core/bytes.h"
#include "search/local/descent.h"
#include "search/local/level_placer.h"
#include "search/local/plan_coster.h"
#include "search/refine/divider.h"

namespace neuroshard::search {
namespace {

/// Of the level: the heaviest piece that is left whole.
constexpr std::array kHeaviest{4.0, 2.8, 2.0, 1.4, 1.0, 0.7, 0.5, 0.35};
constexpr int kTooFine = 2;  // multiples in a row without a gain: smaller ones are not tried
/// Of the dims of an even share, or of the widest piece if that is more: caps on a device's dims.
constexpr std::array kCaps{1.02, 1.1, 1.3};
constexpr double kFirstCap = 1.05;
/// Of a device's memory: the largest piece, and the least that is placed before lighter ones
/// (none at first).
constexpr std::array kLargest{1.0, 0.5, 0.25, 0.125};
constexpr std::array kBulky{2.0, 0.5, 0.25, 0.1, 0.02};
constexpr double kBeyond = 64;        // times the cost of a dim of the widest device: a cap to mind
constexpr std::int32_t kProbed = 2;   // devices
constexpr std::int64_t kAtLeast = 8;  // plans, however little time there is, ..
constexpr std::int64_t kSoon = 100'000;  // .. for at most so many tables times devices
constexpr std::int64_t kDescent = 4000;  // candidates of the descent at most
constexpr std::size_t kPatience = 6;     // halvings in a row without a gain

/// One fast start.
class FastStart {
 public:
  FastStart(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
            const StopCheck& stop, std::span<const Division> divisions)
      : problem_(problem),
        evaluator_(evaluator),
        catalog_(catalog),
        stop_(stop),
        divider_(evaluator, catalog, divisions),
        at_least_(std::int64_t{catalog.tables()} * problem.cluster.devices <= kSoon ? kAtLeast : 2),
        placer_(problem, evaluator, catalog),
        descent_(problem, evaluator, catalog),
        coster_(evaluator) {}

  std::optional<FastPlan> run();
  FastPlan descend_from(Assignment start);

 private:
  enum class Decider { kTotal, kReady, kDims };

  [[nodiscard]] double ms_per_dim() const {
    return response_.ready_per_dim + response_.own_per_dim;
  }
  [[nodiscard]] bool over() const {
    return stop_.cancelled() || (best_.evaluations >= at_least_ && stop_.stop());
  }
  bool place(const Pieces& pieces);
  bool place_by_load(const Pieces& pieces);
  bool place_whole();
  void try_heaviest();
  void try_widest();
  void try_caps();
  [[nodiscard]] double least_width(const Pieces& pieces) const;
  void learn_response();
  void descend();
  void divide_evenly();
  void halve_deciding();
  [[nodiscard]] EntryId deciding_piece(Decider decider) const;

  const Problem& problem_;
  const PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const StopCheck& stop_;
  Divider divider_;
  std::int64_t beside_blocks_ = 0;  // bytes of a device
  PieceLimits limits_;              // of the best plan
  double level_ = 0;
  std::size_t bulky_ = 0;  // rank of the first way that fits
  const std::int64_t at_least_;
  LevelPlacer placer_;
  Descent descent_;
  CommResponse response_;
  PlanCoster coster_;  // of the last plan placed
  double cap_ = kFirstCap;
  Pieces best_pieces_;
  double best_cost_ = 0;
  FastPlan best_;
};

/// The dims of the widest device at least.
double FastStart::least_width(const Pieces& pieces) const {
  double sum = 0;
  double widest = 0;
  double blocks = 0;
  for (const EntryId id : pieces) {
    const CatalogEntry& entry = catalog_.entry(id);
    const double dim = entry.dim;
    const bool block = entry.everywhere();
    (block ? blocks : sum) += block ? dim : catalog_.holders(id) * dim;
    if (!block) widest = std::max(widest, dim);
  }
  return blocks + std::max(widest, sum / problem_.cluster.devices);
}

/// Where there is no room in order of load, large pieces go first.
bool FastStart::place_by_load(const Pieces& pieces) {
  const LevelPlacer::Dims dims{ms_per_dim(), cap_ * least_width(pieces),
                               kBeyond * response_.widest_per_dim};
  const std::size_t first = best_.evaluations > 0 ? bulky_ : 0;
  for (std::size_t rank = first; rank < kBulky.size(); ++rank) {
    if (!placer_.place(pieces, dims, scaled_bytes(beside_blocks_, kBulky[rank]))) continue;
    if (best_.evaluations == 0) bulky_ = rank;
    return true;
  }
  return false;
}

/// Places and costs; keeps the plan when it is the best. False when it does not fit.
bool FastStart::place(const Pieces& pieces) {
  if (!place_by_load(pieces)) return false;
  const double cost = coster_.cost(placer_.compute_ms(), placer_.dim_sums());
  if (best_.evaluations++ > 0 && !(cost < best_cost_)) return true;
  best_cost_ = cost;
  best_pieces_ = pieces;
  best_.pieces = placer_.assignment();
  return true;
}

void FastStart::learn_response() {
  LocalPlan plan(problem_, evaluator_, catalog_);
  plan.assign(best_.pieces);
  Scratch scratch;
  response_ = probe_response(plan, evaluator_, scratch, kProbed);
  divider_.weigh_dims(ms_per_dim() + response_.widest_per_dim);
}

void FastStart::divide_evenly() {
  const Pieces whole = best_pieces_;
  place(whole);
  double total = 0;
  for (const EntryId id : whole) {
    total += catalog_.holders(id) * divider_.weight(id);
  }
  level_ = total / problem_.cluster.devices;
  try_heaviest();
  if (response_.widest_per_dim == 0) return;
  const double before = best_cost_;
  try_widest();
  if (best_cost_ < before) try_heaviest();
  try_caps();
}

void FastStart::try_heaviest() {
  std::size_t pieces = best_pieces_.size();
  int failures = 0;
  for (const double heaviest : kHeaviest) {
    if (over()) return;
    if (failures == kTooFine) break;
    PieceLimits limits = limits_;
    limits.weight = heaviest * level_;
    const Pieces trial = divider_.divided(limits);
    if (trial.size() == pieces) continue;
    pieces = trial.size();
    const double before = best_cost_;
    place(trial);
    failures = best_cost_ < before ? 0 : failures + 1;
    if (failures == 0) limits_ = limits;
  }
}

/// As long as single pieces are wider than an even share, they decide the width: all at once.
void FastStart::try_widest() {
  double sum = 0;
  double widest = 0;
  for (const EntryId id : best_pieces_) {
    const CatalogEntry& entry = catalog_.entry(id);
    sum += entry.dim;
    if (entry.moves()) widest = std::max<double>(widest, entry.dim);
  }
  PieceLimits limits = limits_;
  for (int failures = 0; failures < kTooFine && widest > sum / problem_.cluster.devices;) {
    if (over()) break;
    limits.dim = widest /= 2;
    const double before = best_cost_;
    place(divider_.divided(limits));
    failures = best_cost_ < before ? 0 : failures + 1;
    if (failures == 0) limits_ = limits;
  }
}

void FastStart::try_caps() {
  double best_cap = cap_;
  for (const double cap : kCaps) {
    if (over()) return;
    const double before = best_cost_;
    cap_ = cap;
    const Pieces again = best_pieces_;
    place(again);
    if (best_cost_ < before) best_cap = cap;
  }
  cap_ = best_cap;
}

/// A piece that can be halved of the device that decides the last plan's cost: the heaviest of the
/// one with the highest total or the last to be ready, or the widest of that with the most dims.
EntryId FastStart::deciding_piece(Decider decider) const {
  const std::span<const std::int64_t> dims = placer_.dim_sums();
  const std::vector<double>& load =
      decider == Decider::kReady ? coster_.ready_ms() : coster_.total_ms();
  const bool by_dims = decider == Decider::kDims;
  const auto device = static_cast<std::int32_t>(
      by_dims ? std::max_element(dims.begin(), dims.end()) - dims.begin()
              : std::max_element(load.begin(), load.end()) - load.begin());
  EntryId most = kNoEntry;
  for (const Placed& piece : placer_.assignment()) {
    const CatalogEntry& entry = catalog_.entry(piece.entry);
    if (piece.device != device || divider_.parts_of(piece.entry).first == kNoEntry) continue;
    const bool more =
        most == kNoEntry || (by_dims ? entry.dim > catalog_.entry(most).dim
                                     : divider_.weight(piece.entry) > divider_.weight(most));
    if (more) most = piece.entry;
  }
  return most;
}

/// All pieces of the deciding table and width are halved at once: two that are level with each
/// other have to be halved both before anything is gained.
void FastStart::halve_deciding() {
  Pieces pieces = best_pieces_;
  if (!place(pieces)) return;
  std::vector<Decider> deciders{Decider::kTotal};
  if (response_.waiting > 0) deciders.push_back(Decider::kReady);
  if (response_.waiting > 0.5) std::swap(deciders[0], deciders[1]);
  if (response_.widest_per_dim > 0) deciders.push_back(Decider::kDims);
  for (std::size_t failures = 0; failures < kPatience && !over();) {
    const EntryId id = deciding_piece(deciders[failures % deciders.size()]);
    if (id == kNoEntry) return;
    const auto [first, rest] = divider_.parts_of(id);
    const auto count = static_cast<std::size_t>(std::count(pieces.begin(), pieces.end(), id));
    std::erase(pieces, id);
    pieces.insert(pieces.end(), count, first);
    pieces.insert(pieces.end(), count, rest);
    const double before = best_cost_;
    if (!place(pieces)) return;
    failures = best_cost_ < before ? 0 : failures + 1;
  }
}

/// Tables that are split for their bytes alone; finer where memory is tight.
bool FastStart::place_whole() {
  for (const double largest : kLargest) {
    limits_.bytes = scaled_bytes(beside_blocks_, largest);
    if (place(divider_.divided(limits_))) return true;
    if (stop_.stop()) return false;
    best_.finer = true;
  }
  return false;
}

std::optional<FastPlan> FastStart::run() {
  beside_blocks_ = problem_.cluster.memory_bytes;
  for (std::int32_t table = 0; table < catalog_.tables(); ++table) {
    const CatalogEntry& entry =
        catalog_.entry(undivided(catalog_, table, divider_.division(table)));
    if (entry.everywhere()) beside_blocks_ -= entry.bytes;
  }
  if (!place_whole()) return std::nullopt;
  learn_response();
  divide_evenly();
  halve_deciding();
  best_.cost = best_cost_;
  if (!stop_.stop()) descend();
  return std::move(best_);
}

void FastStart::descend() {
  WalkResult descended = descent_.run(best_.pieces, response_, [this](std::int64_t candidates) {
    return candidates >= kDescent || stop_.stop();
  });
  best_.evaluations += descended.candidates;
  best_.pieces = std::move(descended.best);
  best_.cost = descended.cost;
}

FastPlan FastStart::descend_from(Assignment start) {
  best_.pieces = std::move(start);
  best_.evaluations = 1;
  learn_response();
  descend();
  return std::move(best_);
}

}  // namespace

std::optional<FastPlan> fast_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                  const ShapeCatalog& catalog, const StopCheck& stop,
                                  std::span<const Division> divisions) {
  return FastStart(problem, evaluator, catalog, stop, divisions).run();
}

FastPlan descend(const Problem& problem, const PlanEvaluator& evaluator,
                 const ShapeCatalog& catalog, const StopCheck& stop, const Assignment& start) {
  return FastStart(problem, evaluator, catalog, stop, {}).descend_from(start);
}

}  // namespace neuroshard::search
