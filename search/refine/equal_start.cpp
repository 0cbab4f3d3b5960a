#include "search/refine/equal_start.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "engine/core/bytes.h"
#include "search/equal_columns.h"
#include "search/local/column_cuts.h"
#include "search/local/comm_response.h"
#include "search/refine/block_choices.h"
#include "search/refine/fast_plan.h"
#include "search/refine/fast_start.h"
#include "search/refine/piece_trials.h"

namespace neuroshard::search {
namespace {

/// Of a device's memory, that a block may have at most.
constexpr std::array kMemoryShares{1.0, 0.5, 0.25, 0.125, 0.0625};
constexpr std::int32_t kAnyColumns = std::numeric_limits<std::int32_t>::max();
// Choices that are tried from the cheapest on. 60 sets of 6 to 100 generated tables on 3 to 16
// devices, 30,000 plans, h200_sim: without them 1.6 % costlier, without rivals 0.5, without blocks
// of 64 and 32 columns 0.8; without plans to be like 0.4 cheaper, but one found none.
constexpr int kNeighbours = 300;

class EqualStart {
 public:
  EqualStart(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& blocks,
             const StopCheck& stop, std::int64_t budget, std::uint64_t seed)
      : problem_(problem),
        evaluator_(evaluator),
        catalog_(blocks),
        stop_(stop),
        budget_(budget),
        trials_(problem, evaluator, blocks),
        blocks_(problem, evaluator, blocks, seed) {}

  std::optional<FirstPlan> run(std::span<const Plan> like) {
    std::vector<BlockChoices::Choice> choices;
    for (const Plan& plan : like) {
      for (const bool finer : {true, false}) choices.push_back(blocks_.like(plan, finer));
    }
    const std::int64_t memory = problem_.cluster.memory_bytes;
    for (const double share : kMemoryShares) {
      choices.push_back(blocks_.within(scaled_bytes(memory, share), kAnyColumns));
    }
    for (const std::int32_t columns : {kColumnsOfSixteenLanes, kColumnsOfEightLanes}) {
      choices.push_back(blocks_.within(memory, columns));
    }
    place_all(choices);
    for (std::int32_t rows = 1; !any() && rows / 2 < catalog_.tables() && !over(); rows *= 2) {
      std::vector<BlockChoices::Choice> by_rows;
      for (const auto& choice : choices) by_rows.push_back(blocks_.with_rows(choice, rows));
      place_all(by_rows);
    }
    if (trials_.placed() > 0) {
      learn_response();
      place_all(choices);
      climb();
      descend_from(trials_.assignment());
    }
    if (found_.empty() || !over()) {
      if (auto fast = fast_start(problem_, evaluator_, catalog_, stop_, left())) {
        add(*std::move(fast));
      }
    }
    return taken();
  }

 private:
  [[nodiscard]] bool over() const {
    return stop_.cancelled() || (any() && (stop_.stop() || spent() >= budget_));
  }
  [[nodiscard]] bool any() const { return !found_.empty() || trials_.placed() > 0; }
  [[nodiscard]] std::int64_t spent() const { return trials_.placed() + evaluations_; }
  [[nodiscard]] std::int64_t left() const { return std::max<std::int64_t>(1, budget_ - spent()); }

  void place_all(const std::vector<BlockChoices::Choice>& choices) {
    for (const BlockChoices::Choice& choice : choices) {
      if (over()) return;
      attempt(choice);
    }
  }

  void attempt(const BlockChoices::Choice& choice) {
    const bool first = trials_.placed() == 0;
    const double before = trials_.cost();
    if (trials_.place(blocks_.pieces_of(choice)) && (first || trials_.cost() < before)) {
      best_ = choice;
    }
  }

  void climb() {
    const std::int64_t until = std::min(trials_.placed() + kNeighbours, budget_ / 2);
    for (int draw = 0; draw < kNeighbours && trials_.placed() < until && !over(); ++draw) {
      attempt(blocks_.neighbour(best_));
    }
  }

  void learn_response() {
    LocalPlan plan(problem_, evaluator_, catalog_);
    plan.assign(trials_.assignment());
    Scratch scratch;
    trials_.set_response(probe_response(plan.batch(), evaluator_, scratch));
  }

  void descend_from(const Assignment& start) {
    if (!found_.empty() && over()) return;
    add(start_of(descend(problem_, evaluator_, catalog_, stop_, start, left()), problem_,
                 evaluator_, catalog_));
  }

  void add(StartPlan plan) {
    evaluations_ += plan.evaluations;
    found_.push_back(std::move(plan));
  }

  /// The cheapest, and the next ones as its rivals.
  std::optional<FirstPlan> taken() {
    if (found_.empty()) return std::nullopt;
    std::stable_sort(found_.begin(), found_.end(),
                     [](const StartPlan& a, const StartPlan& b) { return a.cost < b.cost; });
    FirstPlan first{std::move(found_.front()), {}};
    first.plan.evaluations = spent();
    for (std::size_t k = 1; k < found_.size() && first.rivals.size() < kMostRivals; ++k) {
      first.rivals.push_back(std::move(found_[k].plan));
    }
    return first;
  }

  const Problem& problem_;
  PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  const StopCheck& stop_;
  const std::int64_t budget_;
  PieceTrials trials_;
  BlockChoices blocks_;
  BlockChoices::Choice best_;  // of trials_
  std::vector<StartPlan> found_;
  std::int64_t evaluations_ = 0;  // of found_
};

}  // namespace

std::optional<FirstPlan> equal_start(const Problem& problem, PlanEvaluator& evaluator,
                                     const ShapeCatalog& blocks, std::span<const Plan> like,
                                     const StopCheck& stop, std::int64_t budget,
                                     std::uint64_t seed) {
  return EqualStart(problem, evaluator, blocks, stop, budget, seed).run(like);
}

std::optional<Plan> in_equal_blocks(const Problem& problem, PlanEvaluator& evaluator,
                                    const SearchOptions& options, const Plan& plan,
                                    std::int64_t& evaluations) {
  if (std::optional<Plan> laid = laid_in_blocks(problem.space, problem.workload, plan)) return laid;
  const ShapeCatalog blocks(problem.space, evaluator, row_shapes(options, problem.cluster.devices),
                            options.cancel);
  if (!blocks.complete()) return std::nullopt;
  std::optional<FirstPlan> found =
      equal_start(problem, evaluator, blocks, {&plan, 1}, StopCheck(options),
                  budget_share(options, 1), options.seed);
  if (!found) return std::nullopt;
  evaluations += found->plan.evaluations;
  return laid_in_blocks(problem.space, problem.workload, found->plan.plan);
}

}  // namespace neuroshard::search
