#include "search/refine/block_plan.h"

#include <utility>
#include <vector>

#include "search/local/redraw.h"

namespace neuroshard::search {
namespace {

constexpr int kPatience = 4;  // plans in a row that are no cheaper

}  // namespace

std::optional<FastPlan> block_plan(const Problem& problem, const PlanEvaluator& evaluator,
                                   const ShapeCatalog& catalog, const StopCheck& stop,
                                   std::int64_t most_evaluations) {
  std::vector<Division> divisions(static_cast<std::size_t>(catalog.tables()), Division::kColumns);
  std::optional<FastPlan> best;
  std::int64_t evaluations = 0;
  int failures = 0;
  for (const std::int32_t table : dearest_with_blocks(evaluator, catalog)) {
    const bool used_up = most_evaluations > 0 && evaluations >= most_evaluations;
    if (used_up || failures == kPatience || stop.stop()) break;
    divisions[static_cast<std::size_t>(table)] = Division::kBlocks;
    ++failures;
    std::optional<FastPlan> found = fast_plan(problem, evaluator, catalog, stop, divisions);
    if (!found) continue;
    evaluations += found->evaluations;
    if (best && found->cost >= best->cost) continue;
    best = std::move(found);
    failures = 0;
  }
  if (best) best->evaluations = evaluations;
  return best;
}

}  // namespace neuroshard::search
