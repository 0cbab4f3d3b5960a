#include "engine/planner/device_search.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/table.h"
#include "search/equal_columns.h"
#include "search/feasibility.h"
#include "search/piece_sizes.h"
#include "search/refine/equal_start.h"

namespace neuroshard {
namespace {

bool may_be_fused(const Table& table) { return table.kernels.fused; }

/// Tables that may not be fused are on every device, or on none.
search::SearchSpace others_on_every_device(search::SearchSpace space) {
  for (search::TableSpace& own : space.tables) {
    if (may_be_fused(*own.table)) continue;
    own.sharding.whole = own.sharding.columns = own.sharding.rows = false;
  }
  return space;
}

/// kInfeasible for a table that may be neither.
Status check_others(const search::Problem& problem, bool replicate) {
  const std::vector<Table>& tables = problem.workload.tables;
  for (std::size_t index = 0; index < tables.size(); ++index) {
    if (may_be_fused(tables[index])) continue;
    if (replicate && search::may_be_replicated(problem.space.tables[index])) continue;
    return infeasible(table_label(problem.workload, static_cast<std::int32_t>(index)) +
                      ": its compute kernels are " + describe(tables[index].kernels) +
                      ", there is no host memory for tables");
  }
  return {};
}

Result<search::SearchResult> search_fused(const search::Problem& problem,
                                          search::PlanEvaluator& evaluator,
                                          const search::Algorithm& algorithm,
                                          const search::SearchOptions& options) {
  if (all_may_be_fused(problem.workload)) return algorithm.run(problem, evaluator, options);
  NEUROSHARD_RETURN_IF_ERROR(
      check_others(problem, options.replicate && problem.cluster.devices > 1));
  const search::SearchSpace more = others_on_every_device(search::on_more_devices(problem));
  return algorithm.run(
      {problem.workload, problem.cluster, others_on_every_device(problem.space), &more}, evaluator,
      options);
}

}  // namespace

bool all_may_be_fused(const Workload& workload) {
  return std::all_of(workload.tables.begin(), workload.tables.end(), may_be_fused);
}

Result<search::SearchResult> search_on_devices(const search::Problem& problem,
                                               search::PlanEvaluator& evaluator,
                                               const search::Algorithm& algorithm,
                                               const search::SearchOptions& options) {
  Result<search::SearchResult> found = search_fused(problem, evaluator, algorithm, options);
  if (!found.ok() || !search::has_equal_blocks(problem.space)) return found;
  std::optional<Plan> equal =
      search::in_equal_blocks(problem, evaluator, options, found->plan, found->evaluations);
  if (equal) found->plan = *std::move(equal);
  return found;
}

}  // namespace neuroshard
