#include "search/refine/refine.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/hot_rows.h"
#include "engine/core/offload.h"
#include "search/equal_columns.h"
#include "search/local/plan_pieces.h"
#include "search/local/shape_catalog.h"
#include "search/plan_cost.h"
#include "search/refine/equal_search.h"
#include "search/refine/fast_plan.h"
#include "search/refine/joined_columns.h"
#include "search/refine/known_shortage.h"
#include "search/refine/light_tables.h"
#include "search/refine/piece_search.h"
#include "search/refine/refinement.h"
#include "search/refine/row_start.h"
#include "search/refine/stages.h"
#include "search/refine/start_plan.h"
#include "search/refine/usual_limit.h"
#include "search/row_shapes.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

/// The best plan of the stages so far. Where equal blocks are asked for, one in such comes before
/// others, which a search for them may fall back on. Plans are compared as they are told, with
/// their columns joined, but the next stage goes on from one as walks know it.
class BestOfStages {
 public:
  BestOfStages(const Problem& problem, PlanEvaluator& evaluator, const ShapeCatalog& catalog)
      : problem_(problem), evaluator_(evaluator), catalog_(catalog) {}

  /// `last`: no stage comes after. Then a first one needs no costs, which take long of many tables.
  void take(SearchResult found, bool last) {
    if (last && !told_) {
      found.plan =
          with_joined_columns(std::move(found.plan), problem_, evaluator_, found.evaluations);
      told_ = std::move(found);
      return;
    }
    const bool other_blocks = has_equal_blocks(problem_.space) &&
                              pieces_of(found.plan, problem_.workload, catalog_).empty();
    const Rank unjoined{other_blocks, plan_cost(found.plan, evaluator_)};
    if (!told_ || unjoined < start_rank_) {
      start_rank_ = unjoined;
      start_.plan = found.plan;
      start_.cost = unjoined.second;
    }
    found.plan =
        with_joined_columns(std::move(found.plan), problem_, evaluator_, found.evaluations);
    start_.evaluations = found.evaluations;
    const Rank joined{other_blocks, plan_cost(found.plan, evaluator_)};
    if (!told_ || joined < told_rank_) {
      told_rank_ = joined;
    } else {
      found.plan = std::move(told_->plan);
    }
    told_ = std::move(found);
  }

  /// With what the caller has, as far as walks know it. Returns all of these but the best, the
  /// cheapest first.
  std::vector<Plan> begin_with(const SearchOptions& options, const StopCheck& stop) {
    std::vector<FastPlan> starts;
    std::int64_t evaluations = 0;
    for (const Plan& plan : options.starts) {
      if (!hot_rows(plan).empty() || !offloaded_tables(plan).empty()) continue;
      const Assignment pieces = pieces_of(plan, problem_.workload, catalog_);
      if (pieces.empty()) continue;
      starts.push_back(go_on_from(problem_, evaluator_, catalog_, stop, pieces));
      evaluations += starts.back().evaluations;
    }
    std::stable_sort(starts.begin(), starts.end(),
                     [](const FastPlan& a, const FastPlan& b) { return a.cost < b.cost; });
    std::vector<Plan> plans;
    for (const FastPlan& start : starts) {
      plans.push_back(start_of(start, problem_, evaluator_, catalog_).plan);
    }
    if (plans.empty()) return plans;
    take({std::move(plans.front()), evaluations}, false);
    plans.erase(plans.begin());
    return plans;
  }

  [[nodiscard]] bool any() const { return told_.has_value(); }
  [[nodiscard]] bool proven() const {
    return told_ && is_proven(told_rank_.second, told_->lower_bound);
  }
  /// What the next stage goes on from, with the evaluations of all stages.
  [[nodiscard]] const StartPlan& start() const { return start_; }
  [[nodiscard]] SearchResult& told() { return *told_; }

 private:
  using Rank = std::pair<bool, double>;  // whether it is in other blocks; its cost

  const Problem& problem_;
  PlanEvaluator& evaluator_;
  const ShapeCatalog& catalog_;
  StartPlan start_;
  Rank start_rank_;
  std::optional<SearchResult> told_;
  Rank told_rank_;
};

/// One stage after another, until a plan is proven to be the best. Where a stage has no plan, only
/// the last may: it says why there is none.
Result<SearchResult> search_in_stages(const Problem& problem, PlanEvaluator& evaluator,
                                      const SearchOptions& options, const RowShapes& rows,
                                      std::chrono::steady_clock::time_point began) {
  const auto search = has_equal_blocks(problem.space) ? search_equal_blocks : search_pieces;
  const ShapeCatalog catalog(problem.space, evaluator, rows, options.cancel);
  BestOfStages best(problem, evaluator, catalog);
  std::vector<Stage> stages =
      stages_of(options, problem.workload.tables.size(), problem.cluster.devices);
  stages.front().rivals = best.begin_with(options, StopCheck(options, began));
  Status none;
  const Stage* before = nullptr;
  if (problem.cluster.devices == 1) stages.erase(stages.begin(), stages.end() - 1);
  bool too_slow = false;
  for (Stage& stage : stages) {
    if (too_slow && !stage.last()) continue;
    if (!best.any() && before != nullptr && !stage.last()) continue;
    if (best.any()) stage.go_on_from(best.start(), before == nullptr ? stage : *before);
    before = &stage;
    evaluator.hold({});
    Result<SearchResult> found = search(problem, evaluator, catalog, rows, stage, began);
    const bool over = StopCheck(options, began).stop();
    const bool ended = stage.last() && found.ok();
    too_slow = StopCheck(stage.limits, began).stop();
    if (found.ok()) {
      best.take(*std::move(found), stage.last());
    } else {
      none = found.status();
    }
    if (ended || best.proven()) break;
    if (over && best.any()) best.told().stopped_early = true;
    if (over) break;
  }
  if (!best.any()) return none;
  return std::move(best.told());
}

Result<SearchResult> search_within(const Problem& problem, PlanEvaluator& evaluator,
                                   const SearchOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  const SearchOptions own = with_usual_limit(options);
  const RowShapes rows = row_shapes(own, problem.cluster.devices);
  NEUROSHARD_RETURN_IF_ERROR(known_refusal(problem, rows, own));
  if (const auto light = with_light_tables_whole(problem, evaluator, rows, own)) {
    SearchOptions first = own;
    first.advise = false;
    Result<SearchResult> found = search_in_stages(*light, evaluator, first, rows, began);
    if (found.ok()) {
      found->lower_bound.reset();  // that of all layouts may be lower
      return found;
    }
    if (StopCheck(own).cancelled()) return found;
  }
  return search_in_stages(problem, evaluator, own, rows, began);
}

}  // namespace

Result<SearchResult> shard_refine(const Problem& problem, PlanEvaluator& evaluator,
                                  const SearchOptions& options) {
  Result<SearchResult> found = search_within(problem, evaluator, options);
  if (found.status().code() == StatusCode::kInfeasible) {
    return with_wider_options(problem, options, found.status());
  }
  return found;
}

}  // namespace neuroshard::search
