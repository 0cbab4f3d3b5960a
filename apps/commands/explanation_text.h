#pragma once

#include <span>
#include <string>

#include "apps/console/console.h"
#include "engine/core/cost_error.h"
#include "engine/core/table.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/planner/explain/explain_plan.h"
#include "io/plans/plan_file.h"

namespace neuroshard::apps {

/// A line a table: its layout, what it takes, the next best layout and what the plan costs then, in
/// per cent of `cost_ms`, which has that error.
std::string explanation_table(const Console& console, const Workload& workload,
                              std::span<const TableExplanation> tables, double cost_ms,
                              const CostError& error);

/// Whether one of those changes makes the plan cheaper, and which does most.
std::string cheaper_text(const Workload& workload, std::span<const TableExplanation> tables,
                         double cost_ms, const CostError& error);

/// A line for each table with hot rows: what they save of the plan's cost, and what is left of that
/// when other rows have become hot.
std::string hot_gains_text(const Workload& workload, std::span<const TableExplanation> tables,
                           double cost_ms);

/// docs/FILE_FORMATS.md, "Explanation".
std::string explanation_json(const Workload& workload, const io::PlanDocument& document,
                             const NamedCostModels& models,
                             std::span<const TableExplanation> tables);

}  // namespace neuroshard::apps
