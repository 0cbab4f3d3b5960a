#include "search/policy/policy_sharder.h"

#include <algorithm>
#include <array>
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

/// So many times the balanced load pieces may cost, beside tables that stay whole. Of the tasks of
/// scripts/policy_study.py, a quarter more of them made none cheaper by 0.01 %.
constexpr std::array kDivisions{1.0, 0.5};

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
  void place(std::vector<PolicyPiece> pieces, PieceOrder order);
  void draw();
  void learn(std::span<const PolicyPiece> pieces);
  [[nodiscard]] double cost_of(const Rollout& rollout);
  void keep(Rollout rollout, double cost);
  [[nodiscard]] Result<SearchResult> packed() const;

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

void PolicySearch::learn(std::span<const PolicyPiece> pieces) {
  std::vector<ShapeId> ids;
  std::vector<ShardShape> shapes;
  for (const PolicyPiece& piece : pieces) {
    ids.push_back(piece.shape);
    shapes.push_back(shape_of(piece.shard));
  }
  run_->learn(ids, shapes);
}

double PolicySearch::cost_of(const Rollout& rollout) {
  double cost = 0;
  evaluator_.plan_costs({1, rollout.compute_ms, rollout.dim_sums}, {&cost, 1}, scratch_);
  ++evaluations_;
  return cost;
}

void PolicySearch::keep(Rollout rollout, double cost) {
  if (best_.complete && cost >= cost_) return;
  best_ = std::move(rollout);
  cost_ = cost;
}

void PolicySearch::place(std::vector<PolicyPiece> pieces, PieceOrder order) {
  std::sort(pieces.begin(), pieces.end(), order);
  learn(pieces);
  Episode episode(evaluator_, *run_);
  const EpisodeSetting setting = episode_setting(pieces, evaluator_, problem_.cluster.memory_bytes);
  const Halving halving{cutter_, *run_};
  Rollout rollout = roll_out(episode, setting, pieces, order, &halving, nullptr,
                             best_.complete ? stop_ : patience_);
  stopped_early_ |= rollout.stopped;
  if (!rollout.complete) return;
  const double cost = cost_of(rollout);
  if (!best_.complete || cost < cost_) best_order_ = order;
  keep(std::move(rollout), cost);
}

void PolicySearch::place_all(PieceOrder order) {
  std::vector<std::int32_t> tables(problem_.workload.tables.size());
  std::iota(tables.begin(), tables.end(), 0);
  const std::int64_t memory = problem_.cluster.memory_bytes;
  std::vector<PolicyPiece> whole = cutter_.cut(tables, {.bytes = memory});
  const double balanced = balanced_cost(whole, evaluator_);
  std::size_t pieces = whole.size();
  place(std::move(whole), order);
  for (const double share : kDivisions) {
    if (stop_.stop() || stopped_early_ || !(balanced > 0)) break;
    std::vector<PolicyPiece> divided =
        cutter_.cut(tables, {.cost = share * balanced, .bytes = memory});
    if (divided.size() == pieces) continue;  // nothing more is halved
    pieces = divided.size();
    place(std::move(divided), order);
  }
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
    for (Rollout& rollout : drawn) {
      stopped_early_ |= rollout.stopped;
      if (!rollout.complete) continue;
      const double cost = cost_of(rollout);
      keep(std::move(rollout), cost);
    }
    if (options_.progress != nullptr) {
      options_.progress->update("drawing", first + static_cast<std::int64_t>(drawn.size()), samples,
                                "plans");
    }
  }
}

Result<SearchResult> PolicySearch::packed() const {
  if (patience_.cancelled()) return stopped_before_plan();
  if (std::optional<Plan> plan = plan_by_memory(problem_, patience_)) {
    return SearchResult{*std::move(plan), evaluations_, stopped_early_};
  }
  return patience_.stop() ? stopped_before_plan() : no_arrangement(problem_);
}

Result<SearchResult> PolicySearch::run() {
  if (stop_.cancelled()) return stopped_before_plan();
  place_all(costlier_piece);
  if (!best_.complete && !stopped_early_) place_all(larger_piece);
  if (!best_.complete) return packed();
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
    return invalid_input("dreamshard: found no policy, expected a trained one to place tables by");
  }
  NEUROSHARD_RETURN_IF_ERROR(check_pieces(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_finest_pieces(problem));
  return PolicySearch(problem, evaluator, options).run();
}

}  // namespace neuroshard::search
