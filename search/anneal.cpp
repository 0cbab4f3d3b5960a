#include "search/anneal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/core/rng.h"
#include "search/local/redraw.h"
#include "search/refine_start.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

/// 1 / alpha as a share of the start's cost: FlexFlow's alpha is per millisecond of its models.
constexpr double kTemperature = 5e-4;
constexpr std::int64_t kResetSteps = 1000;
constexpr std::int64_t kStepsPerCheck = 64;  // of the clock

class Annealing {
 public:
  Annealing(const Problem& problem, const PlanEvaluator& evaluator, const ShapeCatalog& catalog,
            const SearchOptions& options)
      : evaluator_(evaluator),
        memory_(problem.cluster.memory_bytes),
        options_(options),
        plan_(problem, evaluator, catalog),
        rng_(options.seed) {}

  /// Steps done; the best plan is in best().
  std::int64_t run(Assignment start, std::int64_t budget, const StopCheck& stop);

  [[nodiscard]] const Assignment& best() const { return best_; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  void redraw(std::int32_t table);
  void apply(const Edit& edit) { undo_.push_back(plan_.apply(edit)); }
  [[nodiscard]] bool fits() const {
    return std::all_of(plan_.bytes().begin(), plan_.bytes().end(),
                       [this](std::int64_t bytes) { return bytes <= memory_; });
  }
  double cost() {
    double cost = 0;
    evaluator_.plan_costs({1, plan_.compute_ms(), plan_.dim_sums()}, {&cost, 1}, scratch_);
    return cost;
  }

  const PlanEvaluator& evaluator_;
  const std::int64_t memory_;
  const SearchOptions& options_;
  LocalPlan plan_;
  Rng rng_;
  Scratch scratch_;
  std::vector<Edit> undo_;
  Assignment best_;
  bool stopped_ = false;
};

void Annealing::redraw(std::int32_t table) {
  const std::vector<EntryId> pieces = random_division(plan_.catalog(), table, rng_);
  while (!plan_.pieces_of(table).empty()) {
    apply({plan_.pieces_of(table).back(), {kNoEntry, kNoDevice}, {}});
  }
  for (const EntryId piece : pieces) {
    const auto device =
        static_cast<std::int32_t>(rng_.below(static_cast<std::uint64_t>(plan_.devices())));
    apply({plan_.next_piece(), {piece, device}, {}});
  }
}

std::int64_t Annealing::run(Assignment start, std::int64_t budget, const StopCheck& stop) {
  best_ = std::move(start);
  plan_.assign(best_);
  double now = cost();
  double best = now;
  const double temperature = kTemperature * std::abs(now);
  const std::int64_t reset =
      budget > 0 ? std::clamp<std::int64_t>(budget / 100, 1, kResetSteps) : kResetSteps;
  const auto tables = static_cast<std::uint64_t>(plan_.catalog().tables());
  std::int64_t step = 0;
  for (; budget == 0 || step < budget; ++step) {
    if (step % kStepsPerCheck == 0) {
      stopped_ = stop.stop();
      if (stopped_) break;
      if (options_.progress != nullptr) options_.progress->update("anneal", step, budget, "plans");
    }
    if (step % reset == reset - 1) {
      plan_.assign(best_);
      now = best;
    }
    undo_.clear();
    redraw(static_cast<std::int32_t>(rng_.below(tables)));
    const double found = fits() ? cost() : std::numeric_limits<double>::infinity();
    if (found <= now - temperature * std::log1p(-rng_.uniform())) {
      now = found;
      if (now >= best) continue;
      best = now;
      best_ = plan_.assignment();
    } else {
      for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) plan_.apply(*undo);
    }
  }
  return step;
}

}  // namespace

Result<SearchResult> shard_anneal(const Problem& problem, PlanEvaluator& evaluator,
                                  const SearchOptions& options) {
  SearchOptions own = options;
  if (own.time_limit_s <= 0 && own.evaluations <= 0) own.time_limit_s = kAnnealSeconds;
  const StopCheck stop(own);
  NEUROSHARD_ASSIGN_OR_RETURN(StartPlan start, best_baseline(problem, evaluator, own));
  SearchResult result{std::move(start.plan), start.evaluations, start.stopped_early};
  const ShapeCatalog catalog(problem.workload, evaluator);
  Assignment pieces = pieces_of(result.plan, problem.workload, catalog);
  if (problem.cluster.devices == 1 || pieces.empty()) return result;
  Annealing annealing(problem, evaluator, catalog, own);
  result.evaluations += annealing.run(std::move(pieces), own.evaluations, stop);
  result.stopped_early = result.stopped_early || annealing.stopped();
  Plan plan = plan_of(annealing.best(), problem.workload, catalog, problem.cluster.devices);
  if (plan_cost(plan, evaluator) < start.cost) result.plan = std::move(plan);
  return result;
}

}  // namespace neuroshard::search
