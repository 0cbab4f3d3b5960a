#include "apps/commands/baselines.h"

#include <algorithm>
#include <new>
#include <span>
#include <system_error>

#include "apps/commands/plan_report.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/interrupt.h"
#include "engine/core/algorithm_name.h"
#include "engine/core/decimal.h"
#include "engine/planner/algorithms.h"

namespace neuroshard::apps {
namespace {

constexpr double kAllSeconds = 2;

/// compare_plans(), where what it lacks is an error like others: the plan beside it is there.
Result<std::vector<ComparedPlan>> compared_if_possible(const Workload& workload,
                                                       const Cluster& cluster,
                                                       const CostModels& models,
                                                       std::span<const std::string> algorithms,
                                                       double seconds, const PlanOptions& options) {
  try {
    return compare_plans(workload, cluster, models, algorithms, options,
                         {seconds, TimeForAll::Then::kNothing});
  } catch (const std::bad_alloc&) {
    return internal_error("out of memory");
  } catch (const std::system_error& error) {  // no thread to be had
    return internal_error(error.what());
  }
}

/// Time was over: with the best plan until then, or with none.
bool ended_by_limit(const ComparedPlan& baseline) {
  return baseline.result.ok() ? baseline.result->stopped_early
                              : baseline.result.status().code() == StatusCode::kCancelled;
}

/// Its name, its cost, and how this plan's compares.
std::vector<std::string> cells_of(const ComparedPlan& baseline, double cost_ms,
                                  const CostError& error) {
  if (!baseline.result.ok()) {
    return {display_name(baseline.algorithm), ended_by_limit(baseline) ? "no plan" : "infeasible",
            "-"};
  }
  const double cost = baseline.result->cost.cost_ms;
  return {display_name(baseline.algorithm), milliseconds(cost, cost_ms),
          comparison_text(cost, cost_ms, error)};
}

}  // namespace

Result<std::vector<ComparedPlan>> compare_baselines(const Workload& workload,
                                                    const Cluster& cluster,
                                                    const CostModels& models,
                                                    const std::string& algorithm, double overrun_s,
                                                    const PlanOptions& options) {
  if (cancel_token().cancelled()) return std::vector<ComparedPlan>();
  const double seconds = kAllSeconds - overrun_s;
  if (seconds <= 0) {
    return cancelled("its search took " + fixed_decimals(overrun_s, 1) +
                     " s longer than its time limit");
  }
  std::vector<std::string> names = baseline_names();
  std::erase(names, algorithm);
  PlanOptions own = options;
  own.time_limit_s = kBaselineSeconds;
  Result<std::vector<ComparedPlan>> compared =
      compared_if_possible(workload, cluster, models, names, seconds, own);
  if (cancel_token().cancelled()) return std::vector<ComparedPlan>();
  return compared;
}

std::string baseline_report(const Console& console, const std::vector<ComparedPlan>& baselines,
                            double cost_ms, const CostError& error) {
  if (baselines.empty()) return "";
  const bool by_time = std::any_of(baselines.begin(), baselines.end(), ended_by_limit);
  std::vector<Column> columns{{"baseline", Align::kLeft}, {"cost ms"}, {"this plan"}};
  if (by_time) columns.push_back({"", Align::kLeft});
  TextTable table(columns);
  const ComparedPlan* strongest = nullptr;
  bool all_ran = true;
  for (const ComparedPlan& other : baselines) {
    std::vector<std::string> cells = cells_of(other, cost_ms, error);
    if (by_time) cells.emplace_back(ended_by_limit(other) ? "ended by time" : "");
    table.add(cells);
    if (!other.result.ok()) {
      all_ran &= !ended_by_limit(other);
      continue;
    }
    const double cost = other.result->cost.cost_ms;
    if (strongest == nullptr || cost < strongest->result->cost.cost_ms) strongest = &other;
  }
  std::string verdict;
  if (strongest != nullptr) {
    verdict = (all_ran ? "the best baseline is " : "the best of those that had time is ") +
              display_name(strongest->algorithm) + ": this plan is " +
              comparison_text(strongest->result->cost.cost_ms, cost_ms, error) + "\n";
  } else if (all_ran) {
    verdict = "no baseline finds a plan that fits\n";
  }
  return "\n" + table.render(console) + verdict;
}

std::vector<io::BaselineCost> baseline_costs(const std::vector<ComparedPlan>& baselines) {
  std::vector<io::BaselineCost> costs;
  for (const ComparedPlan& other : baselines) {
    const bool feasible = other.result.ok();
    costs.push_back({other.algorithm, feasible, feasible ? other.result->cost.cost_ms : 0,
                     ended_by_limit(other)});
  }
  return costs;
}

}  // namespace neuroshard::apps
