#pragma once

#include <string>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/plans/export_options.h"
#include "io/plans/plan_document.h"

namespace neuroshard::io {

/// Format "html" of export_plan(): one page without scripts and without anything loaded from
/// elsewhere, light or dark as the browser asks. Charts: what a step costs on each device (compute,
/// forward and backward communication), what the baselines would cost, memory against the limit,
/// and which shard is where; then every shard in a table. Error: a plan without costs.
Result<std::string> format_html_report(const Workload& workload, const PlanDocument& document,
                                       const PlanExportOptions& options);

}  // namespace neuroshard::io
