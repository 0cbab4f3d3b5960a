#pragma once

#include <string_view>
#include <vector>

#include "engine/core/progress.h"
#include "engine/core/status.h"
#include "engine/planner/bench_signature/settings.h"
#include "engine/planner/planner.h"

namespace neuroshard::signature {

/// What all searches of a setting came to, in order: plans, or refusals, which are outcomes, too.
struct SettingRun {
  std::string_view name;
  std::vector<Result<PlanResult>> outcomes;
};

/// On one thread, no search ended by time. Errors: what is no outcome of a search.
Result<SettingRun> run_setting(const Setting& setting);
/// All settings(); tells `progress`, if any, how many are done.
Result<std::vector<SettingRun>> run_settings(ProgressSink* progress = nullptr);

}  // namespace neuroshard::signature
