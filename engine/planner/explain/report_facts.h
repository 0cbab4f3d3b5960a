#pragma once

#include <cstdint>

#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/shipped_models.h"
#include "io/plans/export_options.h"
#include "io/plans/plan_document.h"

namespace neuroshard {

/// Tables that a report explains: the dearest ones.
inline constexpr std::size_t kExplainedTables = 10;

/// Puts into `options` what a report shows beside a plan and its costs under `models`, and on hosts
/// of so many devices (0: as in a Cluster): which of the
/// words measured, simulated and formula the costs have and what they are of, the lower bound where
/// there is one, what each shard computes alone, and what the dearest tables take and where else
/// they could be (explain_plan(), without it where a device holds more than
/// options.memory_limit). Cost: as explain_plan(). Errors: as simulate(); kCancelled. Thread-safe.
Status add_report_facts(const Workload& workload, const io::PlanDocument& document,
                        std::int32_t devices_per_host, const NamedCostModels& models,
                        ProgressSink* progress, const CancelToken* cancel,
                        io::PlanExportOptions& options);

}  // namespace neuroshard
