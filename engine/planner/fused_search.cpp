#include "engine/planner/fused_search.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/table.h"
#include "search/feasibility.h"

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

}  // namespace

bool all_may_be_fused(const Workload& workload) {
  return std::all_of(workload.tables.begin(), workload.tables.end(), may_be_fused);
}

Result<search::SearchResult> search_fused(const search::Problem& problem,
                                          const search::SearchOptions& options,
                                          const FusedSearch& run) {
  if (all_may_be_fused(problem.workload)) return run(problem);
  const std::vector<Table>& tables = problem.workload.tables;
  const bool replicate = options.replicate && problem.cluster.devices > 1;
  for (std::size_t index = 0; index < tables.size(); ++index) {
    if (may_be_fused(tables[index])) continue;
    if (replicate && problem.space.tables[index].sharding.data_parallel) continue;
    return infeasible(table_label(problem.workload, static_cast<std::int32_t>(index)) +
                      ": its compute kernels are " + describe(tables[index].kernels) +
                      ", there is no host memory for tables");
  }
  const search::SearchSpace more = others_on_every_device(search::on_more_devices(problem));
  return run({problem.workload, problem.cluster, others_on_every_device(problem.space), &more});
}

}  // namespace neuroshard
