// Plans near one that runs.
#include "search/replan/replan.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/core/algorithm_name.h"
#include "engine/core/bytes.h"
#include "engine/core/elapsed.h"
#include "engine/core/held_cells.h"
#include "engine/core/hot_rows.h"
#include "engine/core/plan_check.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/planner/memory_limits.h"
#include "engine/planner/planner.h"
#include "engine/planner/search_budget.h"
#include "engine/planner/search_run.h"
#include "search/refine/usual_limit.h"
#include "search/replan/feasible_start.h"
#include "search/replan/fresh_start.h"

namespace neuroshard {
namespace {

/// What a search near a plan that runs begins with, and the plans that finding it took.
struct NearStart {
  Plan plan;
  std::int64_t evaluations = 0;
};

/// From which on no more than the limit may move. Where there is no simple one, half of what
/// `options` give may go by looking for one; the rest is what they give then.
Result<NearStart> start_within(const search::Problem& problem, CostEvaluator& evaluator,
                               const Plan& now, const MoveLimit& limit,
                               search::SearchOptions& options) {
  Result<Plan> simple = search::feasible_start(problem, now, limit.whole_tables);
  if (simple.ok()) {
    const std::int64_t bytes = moved_bytes(problem.workload, now, *simple);
    if (bytes <= limit.bytes) return NearStart{*std::move(simple)};
    simple = search::too_far(problem, bytes);
  }
  options = search::with_usual_limit(options);
  const auto began = std::chrono::steady_clock::now();
  search::SearchOptions half = options;
  half.time_limit_s /= 2;
  half.evaluations = (half.evaluations + 1) / 2;
  NearStart start;
  NEUROSHARD_ASSIGN_OR_RETURN(start.plan, search::fresh_start(problem, evaluator, half, now, limit,
                                                              simple.status(), start.evaluations));
  if (options.time_limit_s > 0) {
    options.time_limit_s = std::max(options.time_limit_s - seconds_since(began), kLeastSeconds);
  }
  if (options.evaluations > 0) {
    options.evaluations = std::max<std::int64_t>(options.evaluations - start.evaluations, 1);
  }
  return start;
}

/// kInfeasible for a table that `now` lacks and that may not be fused: new ones are on the devices.
Status check_new_tables(const Workload& workload, const Plan& now) {
  for (const std::int32_t index : missing_tables(workload, now)) {
    const Table& table = workload.tables[static_cast<std::size_t>(index)];
    if (table.kernels.fused) continue;
    return infeasible(table_label(workload, index) + ": its compute kernels are " +
                      describe(table.kernels) + ", and new tables are placed on devices alone");
  }
  return {};
}

}  // namespace

Result<PlanResult> replan(const Workload& workload, const Cluster& cluster,
                          const CostModels& models, const Plan& now, const MoveLimit& given,
                          const PlanOptions& asked) {
  const PlanOptions options = as_trainer_runs(asked);
  MoveLimit limit = given;
  limit.whole_tables |= only_whole_tables_move(options.trainer, workload);
  if (limit.bytes < 0) {
    return invalid_input("move limit: found " + std::to_string(limit.bytes) +
                         " bytes, expected 0 or more");
  }
  if (now.devices != cluster.devices) {
    return invalid_input("devices: found " + std::to_string(cluster.devices) +
                         ", expected the plan's " + std::to_string(now.devices));
  }
  NEUROSHARD_RETURN_IF_ERROR(check_no_hot_rows(now, "replan cannot keep them, plan anew"));
  NEUROSHARD_RETURN_IF_ERROR(validate(workload));
  NEUROSHARD_RETURN_IF_ERROR(validate(cluster));
  NEUROSHARD_RETURN_IF_ERROR(
      simulate(workload, with_missing_tables(workload, now), models, cluster).status());
  NEUROSHARD_RETURN_IF_ERROR(check_new_tables(workload, now));
  NEUROSHARD_RETURN_IF_ERROR(check_devices(workload, cluster));
  search::Problem problem(workload, cluster, search::space_of(workload, cluster));
  search::give_kernels(now, problem.space);
  const auto check_hosts = [&](const Plan& plan) {
    if (cluster.host_memory_bytes == 0) return Status();
    const std::int32_t each = capabilities(models).hosts ? host_devices(cluster) : 0;
    return check_host_memory(workload, plan, each, cluster.host_memory_bytes);
  };
  NearStart start;
  const Search run = [&](const search::Problem& running, CostEvaluator& evaluator,
                         const search::SearchOptions& own) -> Result<search::SearchResult> {
    search::SearchOptions left = own;
    Result<NearStart> found_start = start_within(running, evaluator, now, limit, left);
    if (!found_start.ok()) {
      NEUROSHARD_RETURN_IF_ERROR(check_hosts(now));  // else the next refusal
      return found_start.status();
    }
    start = *std::move(found_start);
    NEUROSHARD_RETURN_IF_ERROR(check_hosts(start.plan));
    search::SearchResult found = search::replan(running, evaluator, left, now, start.plan, limit);
    found.evaluations += start.evaluations;
    return found;
  };
  double seconds = 0;
  NEUROSHARD_ASSIGN_OR_RETURN(PlanResult result,
                              run_search(problem, models, options, run, seconds));
  result.algorithm = kReplan;
  if (cluster.devices == 1) return result;  // there is no other plan
  // Searches do not know all that a plan costs: TorchRec's formula has devices pay for tables whose
  // rows are dealt to others alone.
  NEUROSHARD_ASSIGN_OR_RETURN(PlanCost cost, simulate(workload, start.plan, models, cluster));
  if (result.cost.cost_ms > cost.cost_ms) {
    result.plan = std::move(start.plan);
    result.cost = std::move(cost);
  }
  return result;
}

}  // namespace neuroshard
