#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/flags/common_flags.h"
#include "apps/flags/export_flags.h"
#include "engine/planner/planner.h"
#include "engine/planner/robust/robust_plan.h"
#include "io/plans/plan_file.h"

namespace neuroshard::apps {

/// What each of the models that a plan was made for says of it, as plan files have it.
std::vector<io::CostByModel> costs_by_models(std::span<const NamedCostModels> models,
                                             const RobustPlan& plan);

/// `document`, which holds what a trainer's plan says beside shards, with the plan of `result` in
/// it, its cost on the cluster, and where it comes from.
io::PlanDocument document_of(const LoadedWorkload& loaded, const Cluster& cluster,
                             const NamedCostModels& models, const PlanResult& result,
                             std::uint64_t seed, io::PlanDocument document = {});

/// The text of `document`, which holds what a trainer's plan says beside shards, with the plan of
/// `result` in it and where it comes from.
Result<std::string> text_of(ExportFlags& flags, const LoadedWorkload& loaded,
                            const Cluster& cluster, const NamedCostModels& models,
                            const PlanResult& result, std::uint64_t seed,
                            io::PlanDocument document = {});

}  // namespace neuroshard::apps
