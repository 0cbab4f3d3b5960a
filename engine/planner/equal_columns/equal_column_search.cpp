#include "engine/planner/equal_columns/equal_column_search.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/elapsed.h"
#include "engine/core/rng.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/planner/equal_columns/block_counts.h"
#include "engine/planner/equal_columns/column_parts.h"
#include "engine/planner/search_budget.h"
#include "search/algorithms.h"
#include "search/plan_cost.h"
#include "search/refine/usual_limit.h"

namespace neuroshard {
namespace {

/// Of a device's memory, that a block may have at most.
constexpr std::array kMemoryShares{1.0, 0.5, 0.25, 0.125, 0.0625};
constexpr int kNeighbours = 60;  // that are tried, of few tables
constexpr int kRounds = 4;       // in which ever more tables' blocks are kept apart, at last all
constexpr double kBeforeLast = 0.75;  // of the time and the evaluations, until all is tried
constexpr std::int64_t kTryEvaluations = 2000;  // some milliseconds; baselines are quick anyway

/// How a workload is parted, and the best plan of it that is known.
struct Candidate {
  BlockChoice choice;
  std::vector<std::int32_t> turns;  ///< of the tables whose blocks had to be kept apart
  search::SearchResult found;
  double cost = 0;
};

bool cheaper(const Candidate& a, const Candidate& b) { return a.cost < b.cost; }

class EqualColumnsSearch {
 public:
  EqualColumnsSearch(const EqualColumnsProblem& problem, search::PlanEvaluator& evaluator,
                     const search::Algorithm& algorithm, const search::SearchOptions& options)
      : problem_(problem),
        evaluator_(evaluator),
        algorithm_(algorithm),
        given_(options),
        counts_(problem.any, evaluator, options.replicate, options.row_splits != RowSplits::kOff,
                options.seed),
        evaluations_(options.evaluations) {
    given_.row_splits =
        std::min(given_.row_splits, RowSplits::kEven);  // halves are no equal blocks
    if (algorithm.heeds_evaluations) given_ = search::with_usual_limit(given_);
  }

  Result<search::SearchResult> run() {
    Result<search::SearchResult> found = algorithm_.run(problem_.any, evaluator_, half_of(given_));
    if (!found.ok()) return of_blocks_alone(found.status());
    search::SearchResult any = *std::move(found);
    if (EqualColumnsPlan equal = with_equal_columns(problem_.any.workload, any.plan);
        equal.unequal.empty()) {
      any.plan = std::move(equal.plan);
      return once_more(std::move(any));
    }
    if (!counts_.possible()) return any;
    note(any);
    for (const bool finer : {true, false}) {
      NEUROSHARD_RETURN_IF_ERROR(attempt(counts_.like(any.plan, finer)));
    }
    NEUROSHARD_RETURN_IF_ERROR(try_memory_shares());
    return candidates_.empty() ? any : best_of_all(any.lower_bound);
  }

 private:
  /// `first`, whose blocks are equally wide as it is, or what a search with other random numbers
  /// finds in the other half of the time or the evaluations. Where the first took more than its
  /// half of the time, the second would, too: a plan alone may take that long.
  Result<search::SearchResult> once_more(search::SearchResult first) {
    constexpr double kAboutHalf = 0.9;
    note(first);
    const double taken = seconds_since(start_);
    const bool too_late = given_.time_limit_s > 0 && left_s() < kAboutHalf * taken;
    if (!algorithm_.heeds_evaluations || too_late || out_of_time()) return first;
    search::SearchOptions again = rest();
    again.seed = Rng(given_.seed).fork(1).next();
    Result<search::SearchResult> found = algorithm_.run(problem_.any, evaluator_, again);
    if (found.ok()) {
      note(*found);
      EqualColumnsPlan equal = with_equal_columns(problem_.any.workload, found->plan);
      if (equal.unequal.empty() &&
          search::plan_cost(equal.plan, evaluator_) < search::plan_cost(first.plan, evaluator_)) {
        first.plan = std::move(equal.plan);
      }
    } else if (!there_is_none(found.status())) {
      return found.status();
    }
    first.evaluations = evaluations_.spent();
    first.stopped_early = stopped_early_ || found.status().code() == StatusCode::kCancelled;
    return first;
  }

  /// Columns that are no halves of others may fit where those do not.
  Result<search::SearchResult> of_blocks_alone(const Status& refusal) {
    if (refusal.code() != StatusCode::kInfeasible || !counts_.possible()) return refusal;
    NEUROSHARD_RETURN_IF_ERROR(try_memory_shares());
    if (candidates_.empty()) return refusal;
    return best_of_all(std::nullopt);
  }

  /// REQUIRES a candidate.
  Result<search::SearchResult> best_of_all(std::optional<double> lower_bound) {
    if (!algorithm_.baseline) NEUROSHARD_RETURN_IF_ERROR(try_neighbours());
    const auto best = std::min_element(candidates_.begin(), candidates_.end(), cheaper);
    if (!algorithm_.baseline) NEUROSHARD_RETURN_IF_ERROR(search_further(*best));
    search::SearchResult result = std::move(best->found);
    result.evaluations = evaluations_.spent();
    result.stopped_early = stopped_early_;
    result.skipped = skipped_;
    result.lower_bound = lower_bound;
    return result;
  }

  void note(const search::SearchResult& found) {
    evaluations_.spend(found.evaluations);
    stopped_early_ |= found.stopped_early;
    if (skipped_.empty()) skipped_ = found.skipped;
  }

  Status try_memory_shares() {
    bool first = true;  // is tried in any case
    for (const double share : kMemoryShares) {
      if (!first && out_of_time()) break;
      first = false;
      const auto bytes = share * static_cast<double>(problem_.any.cluster.memory_bytes);
      NEUROSHARD_RETURN_IF_ERROR(attempt(counts_.within(static_cast<std::int64_t>(bytes))));
    }
    return {};
  }

  Status try_neighbours() {
    for (int k = 0; k < most_tries() && !out_of_time(); ++k) {
      const auto best = std::min_element(candidates_.begin(), candidates_.end(), cheaper);
      NEUROSHARD_RETURN_IF_ERROR(attempt(counts_.neighbour(best->choice)));
    }
    return {};
  }

  /// As many as for a hundred tables or fewer, the fewer the more there are.
  [[nodiscard]] int most_tries() const {
    constexpr int kFewTables = 100;
    const auto tables = static_cast<int>(problem_.any.workload.tables.size());
    return kNeighbours * kFewTables / std::max(kFewTables, tables);
  }

  /// Adds a quick plan of that choice, if there is one.
  Status attempt(const BlockChoice& choice) {
    if (std::find(tried_.begin(), tried_.end(), choice) != tried_.end()) return {};
    tried_.push_back(choice);
    search::SearchOptions quick = rest();
    quick.progress = nullptr;
    quick.evaluations = evaluations_.of_try(kTryEvaluations);
    Result<Candidate> found = search(choice, std::vector(choice.turns.size(), kNoTurn), quick);
    if (found.ok()) {
      candidates_.push_back(*std::move(found));
      return {};
    }
    return there_is_none(found.status()) ? Status() : found.status();
  }

  /// The algorithm without a limit of its own on the best choice.
  Status search_further(Candidate& best) {
    if (evaluations_.over()) return {};
    Result<Candidate> found = search(best.choice, best.turns, rest());
    if (!found.ok()) return there_is_none(found.status()) ? Status() : found.status();
    if (found->cost < best.cost) best = *std::move(found);
    return {};
  }

  /// A plan with those blocks. Tables with turns, and those whose blocks meet without, are kept
  /// apart. kInfeasible where there is none.
  Result<Candidate> search(const BlockChoice& choice, std::vector<std::int32_t> turns,
                           const search::SearchOptions& own) {
    for (int round = 0; round <= kRounds; ++round) {
      if (round == kRounds) turns = choice.turns;
      const PartedWorkload parted = in_parts(problem_.any, choice.parts, turns);
      NEUROSHARD_ASSIGN_OR_RETURN(search::SearchResult found, place(parted, own));
      EqualColumnsPlan equal = with_equal_columns(
          problem_.any.workload, plan_of_blocks(problem_.any.workload, parted, found.plan));
      if (equal.unequal.empty()) {
        found.plan = std::move(equal.plan);
        const double cost = search::plan_cost(found.plan, evaluator_);
        return Candidate{choice, std::move(turns), std::move(found), cost};
      }
      for (const std::int32_t index : equal.unequal) {
        const auto table = static_cast<std::size_t>(index);
        turns[table] = choice.turns[table];
      }
    }
    return infeasible("blocks of a table are on one device");
  }

  Result<search::SearchResult> place(const PartedWorkload& parted, search::SearchOptions own) {
    own.time_limit_s = left_s();
    if (evaluations_.limited()) {
      own.evaluations = std::min(own.evaluations, evaluations_.share_of_rest(1));
    }
    NEUROSHARD_ASSIGN_OR_RETURN(
        const std::unique_ptr<CostEvaluator> evaluator,
        make_evaluator(problem_.models, parted.workload, problem_.any.cluster.devices,
                       problem_.any.cluster.devices_per_host, problem_.any.cluster.exchange));
    Result<search::SearchResult> found =
        algorithm_.run({parted.workload, problem_.any.cluster}, *evaluator, own);
    if (found.ok()) note(*found);
    return found;
  }

  /// What the first half leaves; a refusal's advice would be of blocks.
  [[nodiscard]] search::SearchOptions rest() const {
    search::SearchOptions own = given_;
    own.evaluations = evaluations_.share_of_rest(1);
    own.time_limit_s = left_s();
    own.advise = false;
    return own;
  }
  /// Of the time limit; 0: there is none.
  [[nodiscard]] double left_s() const {
    if (given_.time_limit_s == 0) return 0;
    return std::max(kLeastSeconds, given_.time_limit_s - seconds_since(start_));
  }
  [[nodiscard]] bool out_of_time() const {
    return asked_to_stop(given_.cancel) || evaluations_.over(kBeforeLast) ||
           (given_.time_limit_s > 0 && seconds_since(start_) > kBeforeLast * given_.time_limit_s);
  }

  const EqualColumnsProblem& problem_;
  search::PlanEvaluator& evaluator_;
  const search::Algorithm& algorithm_;
  search::SearchOptions given_;
  BlockCounts counts_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<BlockChoice> tried_;
  std::vector<Candidate> candidates_;
  Evaluations evaluations_;
  bool stopped_early_ = false;
  std::string_view skipped_;
};

}  // namespace

Result<search::SearchResult> search_equal_columns(const EqualColumnsProblem& problem,
                                                  search::PlanEvaluator& evaluator,
                                                  const search::Algorithm& algorithm,
                                                  const search::SearchOptions& options) {
  return EqualColumnsSearch(problem, evaluator, algorithm, options).run();
}

}  // namespace neuroshard
