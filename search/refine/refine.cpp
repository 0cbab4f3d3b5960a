#include "search/refine/refine.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include "search/equal_columns.h"
#include "search/feasibility.h"
#include "search/local/shape_catalog.h"
#include "search/packing/what_would_do.h"
#include "search/plan_cost.h"
#include "search/refine/equal_search.h"
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

/// One stage after another, until a plan is proven to be the best. Plans are compared as they are
/// told, with their columns joined, but the next stage goes on from one as walks know it. Where a
/// stage has no plan, only the last may: it says why there is none.
Result<SearchResult> search_in_stages(const Problem& problem, PlanEvaluator& evaluator,
                                      const SearchOptions& options, const RowShapes& rows,
                                      std::chrono::steady_clock::time_point began) {
  const auto search = has_equal_blocks(problem.space) ? search_equal_blocks : search_pieces;
  const ShapeCatalog catalog(problem.space, evaluator, rows, options.cancel);
  Result<SearchResult> best = stopped_before_plan();
  double least = std::numeric_limits<double>::infinity();
  StartPlan earlier;
  const Stage* before = nullptr;
  std::vector<Stage> stages = stages_of(options, problem.workload.tables.size());
  if (problem.cluster.devices == 1) stages.erase(stages.begin(), stages.end() - 1);
  for (Stage& stage : stages) {
    if (!best.ok() && before != nullptr && !stage.last()) continue;
    if (best.ok()) stage.go_on_from(earlier, *before);
    before = &stage;
    evaluator.hold({});
    Result<SearchResult> found = search(problem, evaluator, catalog, rows, stage, began);
    const bool over = stage.last() || StopCheck(options, began).stop();
    if (!found.ok()) {
      if (!best.ok()) best = std::move(found);
      if (over) break;
      continue;
    }
    const double cost = plan_cost(found->plan, evaluator);
    if (stage.earlier == nullptr || cost < earlier.cost) {
      earlier.plan = found->plan;
      earlier.cost = cost;
    }
    found->plan =
        with_joined_columns(std::move(found->plan), problem, evaluator, found->evaluations);
    earlier.evaluations = found->evaluations;
    const double joined = plan_cost(found->plan, evaluator);
    if (best.ok() && !(joined < least)) found->plan = best->plan;
    least = std::min(least, joined);
    best = std::move(found);
    if (over || is_proven(least, best->lower_bound)) break;
  }
  return best;
}

Result<SearchResult> search_within(const Problem& problem, PlanEvaluator& evaluator,
                                   const SearchOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  const SearchOptions own = with_usual_limit(options);
  const RowShapes rows = row_shapes(own, problem.cluster.devices);
  NEUROSHARD_RETURN_IF_ERROR(check_pieces(problem, rows));
  if (!has_equal_blocks(problem.space)) {
    if (const auto shortage = known_shortage(problem, rows)) {
      return what_would_do(problem, own, *shortage);
    }
  }
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
