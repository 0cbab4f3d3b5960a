#include "search/policy/policy_sharder.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "search/feasibility.h"
#include "search/packing/plan_packing.h"
#include "search/policy/rollout.h"
#include "search/workers.h"

namespace neuroshard::search {
namespace {

/// How often the bottleneck device's costliest piece is halved without a cheaper plan.
constexpr int kHalvingsInVain = 2;

/// Halvings at most, fewer where all of them together would look at more devices for pieces than
/// that (a second or two).
constexpr std::int64_t kMostHalvings = 32;
constexpr std::int64_t kMostLooks = 20'000'000;

/// Nor where the bottleneck device takes so little more than the mean of all: no halving gains
/// more.
constexpr double kBalanced = 1.03;

using PieceOrder = bool (*)(const PolicyPiece&, const PolicyPiece&);

class PolicySearch {
 public:
  PolicySearch(const Problem& problem, PlanEvaluator& evaluator, const SearchOptions& options)
      : problem_(problem),
        evaluator_(evaluator),
        options_(options),
        stop_(options),
        patience_(with_patience(options)),
        cutter_(problem.space, evaluator),
        run_(options.policy->begin(problem.workload)) {}

  Result<SearchResult> run();

 private:
  void place_all(PieceOrder order);
  Rollout place(std::vector<PolicyPiece> pieces, PieceOrder order);
  void halve_bottlenecks();
  [[nodiscard]] bool halve_bottleneck(const Rollout& rollout, std::vector<PolicyPiece>& pieces);
  void draw();
  [[nodiscard]] double cost_of(const Rollout& rollout);
  void keep(const Rollout& rollout, double cost, PieceOrder order);

  const Problem& problem_;
  PlanEvaluator& evaluator_;
  const SearchOptions& options_;
  const StopCheck stop_;
  const StopCheck patience_;  // until there is a plan
  const PieceCutter cutter_;
  std::unique_ptr<PolicyRun> run_;

  Rollout best_;
  double cost_ = std::numeric_limits<double>::infinity();
  PieceOrder best_order_ = costlier_piece;
  std::int64_t evaluations_ = 0;
  bool stopped_early_ = false;
  Scratch scratch_;
};

double PolicySearch::cost_of(const Rollout& rollout) {
  double cost = 0;
  evaluator_.plan_costs(rollout.placed.batch(), {&cost, 1}, scratch_);
  ++evaluations_;
  return cost;
}

void PolicySearch::keep(const Rollout& rollout, double cost, PieceOrder order) {
  if (best_.complete && cost >= cost_) return;
  best_ = rollout;
  cost_ = cost;
  best_order_ = order;
}

Rollout PolicySearch::place(std::vector<PolicyPiece> pieces, PieceOrder order) {
  std::sort(pieces.begin(), pieces.end(), order);
  learn_shapes(pieces, *run_);
  Episode episode(evaluator_, *run_);
  const EpisodeSetting setting = episode_setting(pieces, evaluator_, problem_.cluster.memory_bytes);
  const Halving halving{cutter_, *run_};
  Rollout rollout = roll_out(episode, setting, pieces, order, &halving, nullptr,
                             best_.complete ? stop_ : patience_, options_.progress);
  stopped_early_ |= rollout.stopped;
  if (rollout.complete) keep(rollout, cost_of(rollout), order);
  return rollout;
}

/// Into `pieces`, those of the plan with the costliest one of the bottleneck device, of those that
/// can be, in halves; false where none can or there is little to gain.
bool PolicySearch::halve_bottleneck(const Rollout& rollout, std::vector<PolicyPiece>& pieces) {
  std::vector<double> ready(rollout.placed.compute_ms.size());
  std::vector<double> total(ready.size());
  evaluator_.plan_details(rollout.placed.batch(), {ready, total}, scratch_);
  const auto largest = std::max_element(ready.begin(), ready.end());
  const double mean =
      std::accumulate(ready.begin(), ready.end(), 0.0) / static_cast<double>(ready.size());
  if (*largest <= kBalanced * mean) return false;
  const auto slowest = static_cast<std::int32_t>(largest - ready.begin());
  const PolicyPiece* costliest = nullptr;
  for (const PolicyPiece& piece : rollout.pieces) {
    if (piece.shard.device != slowest || !cutter_.can_halve(piece)) continue;
    if (costliest == nullptr || costlier_piece(piece, *costliest)) costliest = &piece;
  }
  if (costliest == nullptr) return false;
  pieces = cutter_.halves(*costliest);
  for (const PolicyPiece& piece : rollout.pieces) {
    if (&piece != costliest) pieces.push_back(piece);
  }
  return true;
}

/// A table that alone makes a device the slowest is halved although that costs all devices more.
void PolicySearch::halve_bottlenecks() {
  const auto looks = static_cast<std::int64_t>(best_.pieces.size()) * problem_.cluster.devices;
  std::int64_t left = std::min(kMostHalvings, kMostLooks / looks);
  Rollout last = best_;
  for (int in_vain = 0; in_vain < kHalvingsInVain && left > 0 && !stop_.stop(); --left) {
    std::vector<PolicyPiece> pieces;
    if (!last.complete || !halve_bottleneck(last, pieces)) return;
    const double before = cost_;
    last = place(std::move(pieces), best_order_);
    in_vain = cost_ < before ? 0 : in_vain + 1;
  }
}

void PolicySearch::place_all(PieceOrder order) {
  std::vector<std::int32_t> tables(problem_.workload.tables.size());
  std::iota(tables.begin(), tables.end(), 0);
  const std::int64_t memory = problem_.cluster.memory_bytes;
  std::vector<PolicyPiece> whole = cutter_.cut(tables, {.bytes = memory});
  const double balanced = balanced_cost(whole, evaluator_);
  const std::size_t pieces = whole.size();
  place(std::move(whole), order);
  if (stop_.stop() || stopped_early_ || !(balanced > 0)) return;
  std::vector<PolicyPiece> divided = cutter_.cut(tables, {.cost = balanced, .bytes = memory});
  if (divided.size() != pieces) place(std::move(divided), order);
}

/// In groups, so that a time limit leaves what was drawn until then.
void PolicySearch::draw() {
  const Rng seeds(options_.seed);
  std::vector<PolicyPiece> pieces = best_.pieces;
  std::sort(pieces.begin(), pieces.end(), best_order_);
  const EpisodeSetting setting = episode_setting(pieces, evaluator_, problem_.cluster.memory_bytes);
  const int workers = workers_of(options_.pool);
  std::vector<std::unique_ptr<Episode>> episodes;
  for (int worker = 0; worker < workers; ++worker) {
    episodes.push_back(std::make_unique<Episode>(evaluator_, *run_));
  }
  const std::int64_t samples = options_.policy_samples;
  for (std::int64_t first = 0; first < samples && !stopped_early_; first += workers) {
    std::vector<Rollout> drawn(
        static_cast<std::size_t>(std::min<std::int64_t>(workers, samples - first)));
    for_each_index(options_.pool, static_cast<std::int64_t>(drawn.size()),
                   [&](std::int64_t k, int worker) {
                     Rng rng = seeds.fork(static_cast<std::uint64_t>(first + k));
                     drawn[static_cast<std::size_t>(k)] =
                         roll_out(*episodes[static_cast<std::size_t>(worker)], setting, pieces,
                                  best_order_, nullptr, &rng, stop_);
                   });
    for (const Rollout& rollout : drawn) {
      stopped_early_ |= rollout.stopped;
      if (!rollout.complete) continue;
      keep(rollout, cost_of(rollout), best_order_);
    }
    if (options_.progress != nullptr) {
      options_.progress->update("drawing", first + static_cast<std::int64_t>(drawn.size()), samples,
                                "plans");
    }
  }
}

Result<SearchResult> PolicySearch::run() {
  if (stop_.cancelled()) return stopped_before_plan();
  place_all(costlier_piece);
  if (!best_.complete && !stopped_early_) place_all(larger_piece);
  if (!best_.complete) return packed_instead(problem_, patience_, evaluations_, stopped_early_);
  halve_bottlenecks();
  if (!stopped_early_ && !stop_.stop()) {
    draw();
  } else {
    stopped_early_ = true;
  }
  Plan plan{problem_.cluster.devices, {}};
  for (const PolicyPiece& piece : best_.pieces) plan.shards.push_back(piece.shard);
  return SearchResult{std::move(plan), evaluations_, stopped_early_};
}

}  // namespace

Result<SearchResult> shard_by_policy(const Problem& problem, PlanEvaluator& evaluator,
                                     const SearchOptions& options) {
  if (options.policy == nullptr) {
    return invalid_input("policy: found none, expected a trained one to place tables by");
  }
  NEUROSHARD_RETURN_IF_ERROR(check_pieces(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_finest_pieces(problem));
  return PolicySearch(problem, evaluator, options).run();
}

}  // namespace neuroshard::search
