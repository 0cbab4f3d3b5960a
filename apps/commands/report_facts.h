#pragma once

#include <cstdint>
#include <string>

#include "apps/flags/export_flags.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/shipped_models.h"
#include "io/plans/plan_document.h"

namespace neuroshard::apps {

/// What a report shows beside the plan: add_report_facts(), the date that --date or
/// SOURCE_DATE_EPOCH says, and the command with its flags, files without their folders. Nothing for
/// formats that show no costs. Errors: as add_report_facts(), and a SOURCE_DATE_EPOCH that is none.
Status add_report(const FlagSet& flags, const std::string& command, const Workload& workload,
                  const io::PlanDocument& document, std::int32_t devices_per_host,
                  const NamedCostModels& models, ExportFlags& out);

}  // namespace neuroshard::apps
