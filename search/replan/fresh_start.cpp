#include "search/replan/fresh_start.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/core/bytes.h"
#include "engine/core/held_cells.h"
#include "engine/core/plan_check.h"
#include "search/feasibility.h"
#include "search/local/shape_catalog.h"
#include "search/refine/joined_columns.h"
#include "search/replan/cell_plan.h"
#include "search/replan/fresh_plan.h"
#include "search/replan/host_loads.h"
#include "search/replan/near_plan.h"
#include "search/replan/partial_plan.h"
#include "search/replan/running_plan.h"
#include "search/stop_check.h"

namespace neuroshard::search {
namespace {

/// `now` with the tables that it lacks as `fresh` has them.
Plan with_new_tables(const Plan& now, const Plan& fresh, const Workload& workload) {
  Plan all = now;
  const std::vector<std::int32_t> missing = missing_tables(workload, now);
  for (const Shard& shard : fresh.shards) {
    const bool is_new = std::find(missing.begin(), missing.end(), shard.table) != missing.end();
    if (is_new) all.shards.push_back(shard);
  }
  canonicalize(all);
  return all;
}

}  // namespace

Result<Plan> fresh_start(const Problem& problem, PlanEvaluator& evaluator,
                         const SearchOptions& options, const Plan& now, const MoveLimit& limit,
                         const Status& why_not, std::int64_t& evaluations) {
  const StopCheck stop(options);
  const HostLoads hosts(problem, options);
  const std::int64_t most =
      evaluations + (options.evaluations > 0 ? options.evaluations : kMostCostedBack);
  SearchOptions half = options;  // the way back takes the rest
  half.evaluations = (options.evaluations + 1) / 2;
  std::optional<Plan> fresh = fresh_plan(problem, evaluator, now, limit, hosts, half, evaluations);
  if (!fresh) return stop.cancelled() ? stopped_before_plan() : why_not;
  fresh = brought_near(with_all_columns_joined(*std::move(fresh), problem.space), now,
                       problem.workload, {}, false);
  const std::int64_t bytes = moved_bytes(problem.workload, now, *fresh);
  if (bytes <= limit.bytes) return *std::move(fresh);
  const Plan back = with_new_tables(now, *fresh, problem.workload);
  std::vector<ShardShape> shapes = shapes_of(*fresh);
  const std::vector<ShardShape> before = shapes_of(back);
  shapes.insert(shapes.end(), before.begin(), before.end());
  const ShapeCatalog catalog = ShapeCatalog::around(std::move(shapes), limit.whole_tables,
                                                    problem.space, evaluator, options.cancel);
  if (!catalog.complete()) return stopped_before_plan();
  const HeldCells held(problem.workload, now);
  const RunningPlan running{problem, evaluator, catalog, back, held, limit, hosts};
  const std::optional<CellPlan> near =
      partial_plan(*fresh, running, most, evaluations, [&] { return stop.stop(); });
  if (!near) return too_far(problem, bytes);
  return plan_of(*near, catalog, now.devices);
}

Status too_far(const Problem& problem, std::int64_t bytes) {
  return infeasible("the plan that runs does not fit into " +
                    format_bytes(problem.cluster.memory_bytes) +
                    " per device, and what has to go to others is more than may move: " +
                    format_bytes_at_least(bytes) + " would do");
}

}  // namespace neuroshard::search
