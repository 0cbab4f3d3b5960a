#pragma once

#include <cstdint>
#include <string>

#include "apps/flags/common_flags.h"
#include "apps/flags/export_flags.h"
#include "engine/planner/planner.h"
#include "io/plans/plan_file.h"

namespace neuroshard::apps {

/// The text of `document`, which holds what a trainer's plan says beside shards, with the plan of
/// `result` in it and where it comes from.
Result<std::string> text_of(ExportFlags& flags, const LoadedWorkload& loaded,
                            const Cluster& cluster, const NamedCostModels& models,
                            const PlanResult& result, std::uint64_t seed,
                            io::PlanDocument document = {});

}  // namespace neuroshard::apps
