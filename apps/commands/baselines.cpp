#include "apps/commands/baselines.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <span>
#include <system_error>

#include "apps/commands/plan_report.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/interrupt.h"
#include "engine/core/decimal.h"

namespace neuroshard::apps {
namespace {

constexpr double kLeastSeconds = 1;

/// "12.3 % cheaper": how this plan's cost compares with another's. No share where that is 0.
std::string change(double other_ms, double cost_ms) {
  if (other_ms == cost_ms) return "equally good";
  if (!(other_ms > 0)) return cost_ms < other_ms ? "cheaper" : "dearer";
  const double percent = 100 * (1 - cost_ms / other_ms);
  const std::string size = fixed_decimals(std::abs(percent), 1);
  if (size == "0.0") return "equally good";
  return size + (percent > 0 ? " % cheaper" : " % dearer");
}

/// compare_plans(), where what it lacks is an error like others: the plan beside it is there.
Result<std::vector<ComparedPlan>> compared_if_possible(const Workload& workload,
                                                       const Cluster& cluster,
                                                       const CostModels& models,
                                                       std::span<const std::string> algorithms,
                                                       const PlanOptions& options) {
  try {
    return compare_plans(workload, cluster, models, algorithms, options);
  } catch (const std::bad_alloc&) {
    return internal_error("out of memory");
  } catch (const std::system_error& error) {  // no thread to be had
    return internal_error(error.what());
  }
}

}  // namespace

Result<std::vector<ComparedPlan>> compare_baselines(const Workload& workload,
                                                    const Cluster& cluster,
                                                    const CostModels& models,
                                                    const std::string& algorithm, double seconds,
                                                    const PlanOptions& options) {
  if (cancel_token().cancelled()) return std::vector<ComparedPlan>();
  std::vector<std::string> names = baseline_names();
  std::erase(names, algorithm);
  PlanOptions own = options;
  own.time_limit_s = std::max(seconds, kLeastSeconds);
  Result<std::vector<ComparedPlan>> compared =
      compared_if_possible(workload, cluster, models, names, own);
  if (!compared.ok() && compared.status().code() == StatusCode::kCancelled) {
    return std::vector<ComparedPlan>();
  }
  return compared;
}

std::string baseline_report(const Console& console, const std::vector<ComparedPlan>& baselines,
                            double cost_ms) {
  if (baselines.empty()) return "";
  TextTable table({{"baseline", Align::kLeft}, {"cost ms"}, {"this plan"}});
  const ComparedPlan* strongest = nullptr;
  for (const ComparedPlan& other : baselines) {
    if (!other.result.ok()) {
      table.add({other.algorithm, "infeasible", "-"});
      continue;
    }
    const double cost = other.result.value().cost.cost_ms;
    table.add({other.algorithm, milliseconds(cost, cost_ms), change(cost, cost_ms)});
    if (strongest == nullptr || cost < strongest->result.value().cost.cost_ms) strongest = &other;
  }
  const std::string verdict =
      strongest == nullptr ? "no baseline finds a plan that fits\n"
                           : "the best baseline is " + strongest->algorithm + ": this plan is " +
                                 change(strongest->result.value().cost.cost_ms, cost_ms) + "\n";
  return "\n" + table.render(console) + verdict;
}

std::vector<io::BaselineCost> baseline_costs(const std::vector<ComparedPlan>& baselines) {
  std::vector<io::BaselineCost> costs;
  for (const ComparedPlan& other : baselines) {
    const bool feasible = other.result.ok();
    costs.push_back({other.algorithm, feasible, feasible ? other.result.value().cost.cost_ms : 0});
  }
  return costs;
}

}  // namespace neuroshard::apps
