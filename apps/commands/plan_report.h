#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "apps/console/console.h"
#include "engine/core/cost_error.h"
#include "engine/core/plan.h"
#include "engine/core/step_memory.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/planner.h"
#include "engine/planner/robust/robust_plan.h"

namespace neuroshard::apps {

/// Device by device: shards, compute, forward, backward and total milliseconds, memory and its
/// share of the limit, where tables are in host memory the bytes there, a bar of the total; the
/// slowest device is marked. Of more than 64, the 16 slowest, and a line on the others.
std::string plan_table(const Console& console, const Plan& plan, const PlanCost& cost,
                       std::int64_t memory_limit);

/// A line on the tables that a plan has in host memory; "" where there are none.
std::string offloaded_text(const Workload& workload, const Plan& plan);

/// A line on the tables with hot rows on every device; "" where there are none.
std::string hot_rows_text(const Workload& workload, const Plan& plan);

/// Columns of the bar beside a cost.
inline constexpr int kBarColumns = 20;

/// "26 tables, 97.4 GiB, batch 65,536".
std::string describe_workload(const Workload& workload, const StepMemory& step);

/// That time ended `searches`, so that the next run may find `others`.
std::string ended_by_time(const std::string& searches = "the search",
                          const std::string& others = "another plan");

/// What was planned, for what, plan_table(), and what the plan costs and took to find.
std::string result_text(const Console& console, const Workload& workload, const Cluster& cluster,
                        const NamedCostModels& models, const PlanResult& result);

/// "plan cost 2.149 ms +- 9 %".
std::string cost_text(double cost_ms, const CostError& error);
/// A line on what that error was found from, or why there is none.
std::string error_line(const CostError& error);
/// "12.3 % cheaper": how a plan's cost compares with another's; where they differ by no more than
/// the error, that they do not: "within the model's error (1.2 % cheaper)". No share where the
/// other is 0.
std::string comparison_text(double other_ms, double cost_ms, const CostError& error);

/// What each cost model says of a plan made for all of them, beside the best that it knows of and
/// what it said of the plan made for it alone.
std::string robust_text(const Console& console, std::span<const NamedCostModels> models,
                        const RobustPlan& plan);

/// Milliseconds with the decimals that a cost near `largest` deserves: three significant digits or
/// more ("0.1234", "12.34", "123.4").
std::string milliseconds(double value, double largest);

/// The higher of `known` and cost_lower_bound(): milliseconds; nothing where there is none above 0.
std::optional<double> bound_of(std::optional<double> known, const Workload& workload,
                               const Cluster& cluster, const CostModels& models,
                               const PlanOptions& options,
                               search::BoundEffort effort = search::BoundEffort::kFull);
/// How far above a bound a cost is: 0.01 for one per cent, and not below 0.
double above_bound(double cost_ms, double bound_ms);
/// A line for people: how far from the best possible a plan of `cost_ms` is at most; "" where there
/// is no such bound.
std::string bound_text(std::optional<double> bound, double cost_ms, const Cluster& cluster,
                       const CostModels& models, const PlanOptions& options);
/// A line on what tables whole on every device could save, where the options allow none and the
/// lower bound is below `without` with them; "" where it is not, or the algorithm makes none.
std::string data_parallel_text(std::optional<double> without, const Workload& workload,
                               const Cluster& cluster, const CostModels& models,
                               const PlanOptions& options);
/// What such a bound is one of: "plan of tables whole or in columns by multiples of
/// 4", or of others, too.
std::string bounded_plans(const CostModels& models, const Cluster& cluster,
                          const PlanOptions& options);

}  // namespace neuroshard::apps
